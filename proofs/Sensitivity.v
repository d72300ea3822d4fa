(* docs/reference/privacy.md, sections 2 to 4a: how far one person moves a released sum. All
   numbers are integers, as the program sums them. Sensitivities are those of
   replace one, then of add or remove one. *)
From dpnmf Require Import Sums.
#[local] Arguments Z.mul : simpl never.

(* The squared sensitivity under the two relations. *)
Definition sensitivity {Person I} (d : list I) (add : Person -> I -> Z) replace remove :=
  moves_at_most replace_one d add replace /\ moves_at_most add_remove_one d add remove.
Definition attained {Person I} (neighbours : list Person -> list Person -> Prop)
    (d : list I) (add : Person -> I -> Z) (bound : Z) :=
  exists v w, neighbours v w /\ dist2 d (total add v) (total add w) = bound.

Section Theorems.
Context {Person : Type}.                       (* a record, and all else it decides *)
Implicit Types p q : Person.

(* Two people whose parts have no negative inner product. *)
Lemma not_opposed {I} (d : list I) add bound :
  (forall p, sq d (add p) <= bound) -> (forall p q, 0 <= dot d (add p) (add q)) ->
  sensitivity d add (2 * bound) bound.
Proof.
  split; [apply replacing | apply adding]; auto.
  intros p q; rewrite dist2_expand; specialize (H0 p q);
    pose proof (H p); pose proof (H q); lia.
Qed.
(* Any two people. *)
Lemma any_signs {I} (d : list I) add bound :
  (forall p, sq d (add p) <= bound) -> sensitivity d add (4 * bound) bound.
Proof.
  split; [apply replacing | apply adding]; auto.
  intros p q; pose proof (dist2_any d (add p) (add q));
    pose proof (H p); pose proof (H q); lia.
Qed.

(* Theorems 3, 4a (moments) and 4d: S = sum of k k', entries of any sign. *)
Theorem T3_second_moment {I} (d : list I) (k : Person -> I -> Z) Q :
  (forall p, sq d (k p) <= Q) ->
  sensitivity (d ** d) (fun p => outer (k p) (k p)) (2 * (Q * Q)) (Q * Q).
Proof.
  intro gate; apply not_opposed; intros p; [|intro q].
  - rewrite sq_outer; pose proof (gate p); pose proof (sq_nonneg d (k p)); nia.
  - rewrite dot_outer; nia.
Qed.

(* Theorem 4: S_B = sum of l k', entries not negative. *)
Theorem T4_products {I J} (d : list I) (e : list J) l (k : Person -> J -> Z) Q_u Q_h :
  (forall p i, 0 <= l p i) -> (forall p j, 0 <= k p j) ->
  (forall p, sq d (l p) <= Q_u) -> (forall p, sq e (k p) <= Q_h) ->
  sensitivity (d ** e) (fun p => outer (l p) (k p)) (2 * (Q_u * Q_h)) (Q_u * Q_h).
Proof.
  intros l0 k0 gate_l gate_k; apply not_opposed; intros p; [|intro q].
  - rewrite sq_outer; pose proof (gate_l p); pose proof (gate_k p).
    pose proof (sq_nonneg d (l p)); pose proof (sq_nonneg e (k p)); nia.
  - rewrite dot_outer.
    pose proof (dot_nonneg d (l p) (l q) (l0 p) (l0 q)).
    pose proof (dot_nonneg e (k p) (k q) (k0 p) (k0 q)); nia.
Qed.

(* Theorem 4a (mean): S_v = sum of l, entries not negative. *)
Theorem T4a_mean {I} (d : list I) (l : Person -> I -> Z) Q :
  (forall p i, 0 <= l p i) -> (forall p, sq d (l p) <= Q) -> sensitivity d l (2 * Q) Q.
Proof. intros l0 gate; apply not_opposed; auto using dot_nonneg. Qed.

(* Theorem 4b: the objective, one number of [0, M]. Nothing is doubled. *)
Theorem T4b_objective (x : Person -> unit -> Z) M :
  (forall p i, 0 <= x p i <= M) -> sensitivity [tt] x (M * M) (M * M).
Proof.
  intro gate; split; [apply replacing; intros p q | apply adding; intros p];
    unfold dist2, sq, dot, sum; pose proof (gate p tt); [pose proof (gate q tt)|]; nia.
Qed.

(* Theorem 4c: classes. A person adds z z', z = (a, k), to the block of the own
   label; nothing if the gate refuses the person (label None). *)
Definition with_constant {I} (a : Z) (k : I -> Z) (i : option I) :=
  match i with None => a | Some i => k i end.
Definition at_label {C} (eq : forall b c : C, {b = c} + {b <> c}) (y : option C) (c : C) :=
  match y with Some y => if eq y c then 1 else 0 | None => 0 end.

Lemma unit_length {C} eq (classes : list C) y :
  NoDup classes -> sq classes (at_label eq y) <= 1.
Proof.
  intro distinct; destruct y as [y|]; [|unfold sq, dot; simpl; rewrite sum_zero; lia].
  enough (sq classes (at_label eq (Some y)) <= 1 /\
          (~ In y classes -> sq classes (at_label eq (Some y)) <= 0)) by tauto.
  induction distinct as [|c r new _ IH]; unfold sq, dot in *; simpl in *; [lia|].
  destruct (eq y c) as [<-|]; intuition lia.
Qed.

Theorem T4c_classes {C I} eq (classes : list C) (d : list I) a
    (label : Person -> option C) (k : Person -> I -> Z) Q :
  NoDup classes -> (forall p, sq d (k p) <= Q) ->
  let z p := with_constant a (k p) in
  let blocks p := outer (at_label eq (label p)) (outer (z p) (z p)) in
  let e := None :: map Some d in
  let Q_z := a * a + Q in
  sensitivity (classes ** (e ** e)) blocks (2 * (Q_z * Q_z)) (Q_z * Q_z).
Proof.
  intros distinct gate z blocks e Q_z; apply not_opposed; intros p; [|intro q];
    unfold blocks; [rewrite !sq_outer | rewrite !dot_outer].
  - assert (le : sq e (z p) <= Q_z).
    { unfold sq, dot, e; simpl; rewrite sum_map; apply Zplus_le_compat_l, gate. }
    pose proof (unit_length eq classes (label p) distinct).
    pose proof (sq_nonneg e (z p)); pose proof (sq_nonneg classes (at_label eq (label p))); nia.
  - assert (0 <= dot classes (at_label eq (label p)) (at_label eq (label q))).
    { apply dot_nonneg; intro c; unfold at_label;
        destruct label; try destruct eq; lia. }
    nia.
Qed.

(* Theorem 11: own means, (x, y) under an arc of height T. *)
Lemma under_the_arc x y z w T :
  0 < T -> 0 <= w <= y -> x * x + y * T <= T * T -> z * z + w * T <= T * T ->
  (x - z) * (x - z) + (y - w) * (y - w) <= 4 * (T * T).
Proof.
  intros T0 wy in_x in_z; set (u := Z.abs x).
  assert (u * u = x * x) by nia.
  assert (0 <= u <= T) by nia; assert (Z.abs z <= T) by nia.
  assert ((x - z) * (x - z) <= (T + u) * (T + u)) by nia.
  assert ((y - w) * (y - w) <= y * y) by nia.
  assert (T * y * (T * y) <= (T * T - u * u) * (T * T - u * u)) by (apply Z.mul_le_mono_nonneg; nia).
  assert (0 <= 2 * T * (T * T) * (T - u) + u * u * (T * T - u * u)).
  { apply Z.add_nonneg_nonneg; repeat apply Z.mul_nonneg_nonneg; nia. }
  apply Z.mul_le_mono_pos_l with (p := T * T); nia.
Qed.
Theorem T11_own_means (x y : Person -> Z) T :
  0 < T -> (forall p, 0 <= y p /\ x p * x p + y p * T <= T * T) ->
  sensitivity [true; false] (fun p i => if i then x p else y p) (4 * (T * T)) (T * T).
Proof.
  intros T0 gate; split; [apply replacing; intros p q | apply adding; intros p];
    unfold dist2, sq, dot, sum; destruct (gate p); [destruct (gate q)|nia].
  destruct (Z.le_ge_cases (y q) (y p)).
  - pose proof (under_the_arc (x p) (y p) (x q) (y q) T); lia.
  - pose proof (under_the_arc (x q) (y q) (x p) (y p) T); lia.
Qed.

(* Theorem 12: items. m is k on the own items and 0 elsewhere; a : T is the
   ratio a / T. *)
Definition beside {I} (x y : I -> Z) (column : bool * I) :=
  if fst column then x (snd column) else y (snd column).
Lemma dot_beside {I} (d : list I) x y u v :
  dot ([true; false] ** d) (beside x y) (beside u v) = dot d x u + dot d y v.
Proof. unfold dot; rewrite sum_pairs; cbn; lia. Qed.

Theorem T12_items {I} (d : list I) (own : Person -> I -> bool) (k : Person -> Z)
    (l : Person -> I -> Z) Q_a Q_c a T :
  0 < a <= T ->
  let m p i := if own p i then k p else 0 in
  (forall p, sq d (m p) <= Q_a) -> (forall p, sq d (l p) <= Q_c) ->
  (forall p i, a * Z.abs (l p i) <= T * m p i) ->
  sensitivity ([true; false] ** d) (fun p => beside (m p) (l p))
    (2 * Q_a + 4 * Q_c - 2 * Q_c * (a * a) / (T * T)) (Q_a + Q_c).
Proof.
  intros aT m gate_m gate_l clamp; clearbody m.
  split; [apply replacing; intros p q | apply adding; intros p].
  2: { unfold sq; rewrite dot_beside; apply Z.add_le_mono; [apply gate_m | apply gate_l]. }
  rewrite dist2_expand; unfold sq; rewrite !dot_beside.
  fold (sq d (m p)) (sq d (m q)) (sq d (l p)) (sq d (l q)).
  pose proof (gate_m p); pose proof (gate_m q); pose proof (gate_l p); pose proof (gate_l q).
  set (K := dot d (m p) (m q)); set (L := dot d (l p) (l q)).
  (* L >= - (T / a)^2 K, over the shared items; L >= - Q_c *)
  assert (shared : 0 <= T * T * K + a * a * L).
  { unfold K, L, dot; rewrite <- !sum_scale, <- sum_add; apply sum_nonneg; intro i.
    pose proof (clamp p i); pose proof (clamp q i).
    assert (a * Z.abs (l p i) * (a * Z.abs (l q i)) <= T * m p i * (T * m q i)) by nia.
    assert (- (l p i * l q i) <= Z.abs (l p i) * Z.abs (l q i)) by nia.
    nia. }
  assert (opposed : - Q_c <= L).
  { pose proof (dist2_any d (l p) (l q)) as far; rewrite dist2_expand in far; fold L in far; lia. }
  assert (0 <= (T * T - a * a) * (Q_c + L)) by (apply Z.mul_nonneg_nonneg; nia).
  pose proof (Z.mul_div_le (2 * Q_c * (a * a)) (T * T) ltac:(nia)).
  nia.
Qed.

(* Theorem 13: P = sum over c of z_c z_c', rows z_c of any sign. *)
Definition gram {C I} (rows : list C) (z : C -> I -> Z) (ij : I * I) :=
  sum rows (fun c => z c (fst ij) * z c (snd ij)).

Lemma dot_gram {C E I} (rows : list C) (lines : list E) (d : list I) z y :
  dot (d ** d) (gram rows z) (gram lines y) =
  sum rows (fun b => sum lines (fun c => dot d (z b) (y c) * dot d (z b) (y c))).
Proof.
  transitivity (sum rows (fun b => sum lines (fun c =>
    dot (d ** d) (outer (z b) (z b)) (outer (y c) (y c))))).
  - unfold dot at 1, gram; unfold dot, outer.
    transitivity (sum (d ** d) (fun ij => sum rows (fun b => sum lines (fun c =>
      z b (fst ij) * z b (snd ij) * (y c (fst ij) * y c (snd ij)))))).
    + apply sum_ext; intro ij; rewrite Z.mul_comm, <- sum_scale; apply sum_ext; intro b.
      rewrite Z.mul_comm, <- sum_scale; apply sum_ext; intro c; ring.
    + rewrite sum_swap; apply sum_ext; intro b; apply sum_swap.
  - apply sum_ext; intro b; apply sum_ext; intro c; apply dot_outer.
Qed.

Theorem T13_semidefinite {C I} (rows : Person -> list C) (d : list I)
    (z : Person -> C -> I -> Z) Q :
  0 <= Q -> (forall p, sq (d ** d) (gram (rows p) (z p)) <= Q * Q) ->
  sensitivity (d ** d) (fun p => gram (rows p) (z p)) (2 * (Q * Q)) (Q * Q).
Proof.
  intros Q0 gate; apply not_opposed; auto; intros p q; rewrite dot_gram.
  apply sum_nonneg; intro b; apply sum_nonneg; intro c; nia.
Qed.
(* The gate may bound the rows instead of the matrix. *)
Theorem T13_rows {C I} (rows : Person -> list C) (d : list I) (z : Person -> C -> I -> Z) Q :
  (forall p, sum (rows p) (fun c => sq d (z p c)) <= Q) ->
  sensitivity (d ** d) (fun p => gram (rows p) (z p)) (2 * (Q * Q)) (Q * Q).
Proof.
  intro gate.
  assert (size : forall p, sq (d ** d) (gram (rows p) (z p)) <= Q * Q).
  { intro p; pose proof (gate p).
    pose proof (sum_nonneg (rows p) (fun c => sq d (z p c)) (fun c => sq_nonneg d _)).
    transitivity (sum (rows p) (fun c => sq d (z p c)) * sum (rows p) (fun c => sq d (z p c))); [|nia].
    unfold sq at 1; rewrite dot_gram, <- sum_scale; apply sum_le; intro b.
    rewrite Z.mul_comm, <- sum_scale; apply sum_le; intro c; apply cauchy_schwarz. }
  apply not_opposed; trivial; intros p q; rewrite dot_gram.
  apply sum_nonneg; intro b; apply sum_nonneg; intro c; nia.
Qed.

(* Co-ratings under weights: l = k m - b p, m of 0 and 1. The gate computes
   |l|^2 from n = |m|^2, c = m.p and |p|^2 alone; the sum of l l' is put together
   from those of k^2 m m', k b m and b^2. *)
Definition damped {I} (k b : Z) (m w : I -> Z) (i : I) := k * m i - b * w i.
Lemma damped_length {I} (d : list I) k b m w :
  sq d (damped k b m w) = k * k * sq d m - 2 * k * b * dot d m w + b * b * sq d w.
Proof.
  unfold sq, dot, damped.
  replace (2 * k * b) with (- (- 2 * k * b)) by ring; rewrite Z.mul_opp_l, Z.sub_opp_r.
  rewrite <- !sum_scale, <- !sum_add; apply sum_ext; intro; ring.
Qed.
Lemma damped_parts {I} (people : list Person) (k b : Person -> Z) (m : Person -> I -> Z) w ij :
  total (fun p => outer (damped (k p) (b p) (m p) w) (damped (k p) (b p) (m p) w)) people ij =
  sum people (fun p => k p * k p * outer (m p) (m p) ij)
  + -1 * (sum people (fun p => k p * b p * m p (fst ij)) * w (snd ij))
  + -1 * (sum people (fun p => k p * b p * m p (snd ij)) * w (fst ij))
  + sum people (fun p => b p * b p) * (w (fst ij) * w (snd ij)).
Proof.
  unfold total, outer, damped; induction people; cbn [sum]; [|rewrite IHpeople]; ring.
Qed.
Theorem T13_damped_co_ratings {I} (d : list I) (k b : Person -> Z) (m : Person -> I -> Z) w Q :
  (forall p, k p * k p * sq d (m p) - 2 * k p * b p * dot d (m p) w + b p * b p * sq d w <= Q) ->
  let l p := damped (k p) (b p) (m p) w in
  sensitivity (d ** d) (fun p => outer (l p) (l p)) (2 * (Q * Q)) (Q * Q).
Proof. intros gate l; apply T3_second_moment; intro p; unfold l; now rewrite damped_length. Qed.

(* Theorem 14: l g', entries of any sign. *)
Theorem T14_corrections {I J} (d : list I) (e : list J) l (g : Person -> J -> Z) Q_z Q_h :
  (forall p, sq d (l p) <= Q_z) -> (forall p, sq e (g p) <= Q_h) ->
  sensitivity (d ** e) (fun p => outer (l p) (g p)) (4 * (Q_z * Q_h)) (Q_z * Q_h).
Proof.
  intros gate_l gate_g; apply any_signs; intro p; rewrite sq_outer.
  pose proof (gate_l p); pose proof (gate_g p).
  pose proof (sq_nonneg d (l p)); pose proof (sq_nonneg e (g p)); nia.
Qed.
End Theorems.

(* The bounds are attained, so no smaller price would do. *)
Lemma attained_by {Person I} (d : list I) (add : Person -> I -> Z) p q bound :
  dist2 d (add p) (add q) = bound -> attained replace_one d add bound.
Proof.
  exists [p], [q]; split; [exists [], p, q, []; auto|]; rewrite <- H.
  apply sum_ext; intro i; unfold total; cbn; ring.
Qed.

Definition both := [true; false].
Definition axis (m : Z) (p i : bool) := if Bool.eqb p i then m else 0.
Theorem T3_attained m :
  let Q := m * m in
  (forall p, sq both (axis m p) <= Q) /\
  attained replace_one (both ** both) (fun p => outer (axis m p) (axis m p)) (2 * (Q * Q)).
Proof.
  split; [intros []; cbn; lia|].
  apply (attained_by _ _ true false); unfold dist2, sq, dot, outer, axis, both; cbn; ring.
Qed.
Theorem T14_attained m n :
  let l (p i : bool) := if i then if p then m else - m else 0 in
  let g (p i : bool) := if i then n else 0 in
  (forall p, sq both (l p) <= m * m /\ sq both (g p) <= n * n) /\
  attained replace_one (both ** both) (fun p => outer (l p) (g p)) (4 * (m * m * (n * n))).
Proof.
  split; [intros []; cbn; lia|].
  apply (attained_by _ _ true false); unfold dist2, sq, dot, outer, axis, both; cbn; ring.
Qed.
(* Two people of 64 items share 16, with opposite ratings: a = T / 2, units of T / 16. *)
Theorem T12_attained :
  let items := List.map Z.of_nat (seq 0 112) in
  let own (p : bool) i := if p then i <? 64 else 48 <=? i in
  let m (p : bool) i := if own p i then 1 else 0 in
  let l (p : bool) i := if ((48 <=? i) && (i <? 64))%bool then if p then 2 else - 2 else 0 in
  (forall p, sq items (m p) = 64 /\ sq items (l p) = 64) /\
  (forall p i, 1 * Z.abs (l p i) <= 2 * m p i) /\
  attained replace_one (both ** items) (fun p => beside (m p) (l p))
    (2 * 64 + 4 * 64 - 2 * 64 * (1 * 1) / (2 * 2)).
Proof.
  intros items own m l; split; [intros []; split; reflexivity|]; split.
  - intros p i; unfold m, own, l.
    destruct (Z.leb_spec 48 i), (Z.ltb_spec i 64), p; cbn; lia.
  - now apply (attained_by _ _ true false).
Qed.

(* ------------------------------------------------------------- exact sums *)
(* Theorem 2. (Not proved here: doubles hold the integers up to 2^53.) *)
Section ExactSums.
Context {Person I : Type}.
Implicit Types (add : Person -> I -> Z) (people : list Person).

(* A block of 2^52 / M people stays within 2^52, and N people below 2^62. *)
Theorem T2_sums_fit add people M N limit i :
  0 <= M -> (forall p, Z.abs (add p i) <= M) ->
  Z.of_nat (length people) <= N -> N * M <= limit -> Z.abs (total add people i) <= limit.
Proof.
  intros M0 small count fits; apply Z.le_trans with (Z.of_nat (length people) * M).
  2: { pose proof (Z.mul_le_mono_nonneg_r _ _ M M0 count); lia. }
  clear count; unfold total; induction people as [|p r IH]; [cbn; lia|].
  pose proof (small p); cbn [sum length]; rewrite Nat2Z.inj_succ, Z.mul_succ_l; lia.
Qed.
(* Additions modulo 2^64, in any order, give a sum of this size exactly. *)
Definition wrapped x := (x + 2 ^ 63) mod 2 ^ 64 - 2 ^ 63.
Theorem T2_wrapped_sums add people i :
  Z.abs (total add people i) < 2 ^ 62 ->
  fold_left (fun so_far p => wrapped (so_far + add p i)) people 0 = total add people i.
Proof.
  intro small.
  enough (forall so_far, (fold_left (fun so_far p => wrapped (so_far + add p i)) people so_far
    - (so_far + total add people i)) mod 2 ^ 64 = 0 /\
    (- 2 ^ 63 <= so_far < 2 ^ 63 ->
     - 2 ^ 63 <= fold_left (fun so_far p => wrapped (so_far + add p i)) people so_far < 2 ^ 63)).
  { destruct (H 0) as [same range]; specialize (range ltac:(lia)).
    apply Z.mod_divide in same as [q e]; [|lia]; lia. }
  clear small; unfold total; induction people as [|p r IH]; intro so_far; cbn [fold_left sum].
  - split; [|trivial]; replace (so_far - (so_far + 0)) with 0 by lia; reflexivity.
  - destruct (IH (wrapped (so_far + add p i))) as [same range]; split.
    + apply Z.mod_divide in same as [q e]; [|lia]; apply Z.mod_divide; [lia|].
      unfold wrapped in *; pose proof (Z.div_mod (so_far + add p i + 2 ^ 63) (2 ^ 64) ltac:(lia)) as div.
      exists (q - (so_far + add p i + 2 ^ 63) / 2 ^ 64); lia.
    + intros _; apply range; unfold wrapped.
      pose proof (Z.mod_pos_bound (so_far + add p i + 2 ^ 63) (2 ^ 64)); lia.
Qed.
(* Theorem 4d: products of entries of any sign, from those of k + m >= 0. *)
Theorem T2_shifted (k : Person -> I -> Z) people m i j :
  sum people (fun p => k p i * k p j) =
  sum people (fun p => (k p i + m) * (k p j + m)) - m * sum people (fun p => k p i)
  - m * sum people (fun p => k p j) - Z.of_nat (length people) * (m * m).
Proof.
  induction people as [|p r IH]; [cbn; ring|].
  cbn [sum length]; rewrite IH, Nat2Z.inj_succ; ring.
Qed.
End ExactSums.

(* ------------------------------------------------- theorem 12, one_rating *)
Lemma quot_none p : Z.quot p 0 = 0.
Proof. destruct p; reflexivity. Qed.
Lemma rem_below p m : p <= 0 -> 0 < m -> - m < Z.rem p m <= 0.
Proof.
  intros p0 m0; pose proof (Z.rem_bound_pos (- p) m ltac:(lia) m0) as b.
  rewrite Z.rem_opp_l' in b; lia.
Qed.
Lemma quot_near p q m n : 0 < m -> 0 < n ->
  m * n * Z.abs (Z.quot p m - Z.quot q n) <= Z.abs (p * n - q * m) + m * n.
Proof.
  intros m0 n0; pose proof (Z.quot_rem' p m) as ep; pose proof (Z.quot_rem' q n) as eq.
  set (x := Z.quot p m) in *; set (y := Z.quot q n) in *.
  assert (e1 : p * n - q * m = m * n * (x - y) + (Z.rem p m * n - Z.rem q n * m)) by nia.
  destruct (Z.le_ge_cases 0 p) as [p0|p0], (Z.le_ge_cases 0 q) as [q0|q0].
  - pose proof (Z.rem_bound_pos p m p0 m0); pose proof (Z.rem_bound_pos q n q0 n0).
    assert (- (m * n) <= Z.rem p m * n - Z.rem q n * m <= m * n) by nia; nia.
  - pose proof (Z.rem_bound_pos p m p0 m0); pose proof (rem_below q n q0 n0) as bq.
    pose proof (Z.quot_pos p m p0 m0).
    assert (y <= 0) by (pose proof (Z.quot_pos (- q) n ltac:(lia) n0) as yq;
      rewrite Z.quot_opp_l in yq by lia; unfold y; lia).
    assert (0 <= m * n * (x - y)) by (unfold x in *; nia).
    assert (0 <= Z.rem p m * n - Z.rem q n * m) by nia.
    rewrite e1; nia.
  - pose proof (rem_below p m p0 m0); pose proof (Z.rem_bound_pos q n q0 n0).
    pose proof (Z.quot_pos q n q0 n0).
    assert (x <= 0) by (pose proof (Z.quot_pos (- p) m ltac:(lia) m0) as xp;
      rewrite Z.quot_opp_l in xp by lia; unfold x; lia).
    assert (m * n * (x - y) <= 0) by (unfold y in *; nia).
    assert (Z.rem p m * n - Z.rem q n * m <= 0) by nia.
    rewrite e1; nia.
  - pose proof (rem_below p m p0 m0); pose proof (rem_below q n q0 n0).
    assert (- (m * n) <= Z.rem p m * n - Z.rem q n * m <= m * n) by nia; nia.
Qed.

Lemma one_term {I} (d : list I) (f : I -> Z) j : NoDup d -> In j d -> (forall i, i <> j -> f i = 0) -> sum d f = f j.
Proof.
  intros distinct is others; revert is; induction distinct as [|i r new _ IH]; [easy|]; intros [->|later].
  - enough (sum r f = 0) by (cbn [sum]; lia); clear - new others.
    induction r as [|i r IH]; [easy|]; cbn [sum]; rewrite IH, others; trivial.
    + intros ->; apply new; now left.
    + intro; apply new; now right.
  - cbn [sum]; rewrite IH, others by (trivial; intros ->; contradiction); lia.
Qed.
(* A person's ratings r of the own items, in units above the low end, R = high -
   low. t = r - own mean, times c / e (2^bits / 10^4), is cut to an integer toward
   zero and clipped to +-L, L <= (c / e) R / 2; each own item has k beside it,
   (e k)^2 <= (c R)^2 / 2. No length is bounded. *)
Section OneRating.
Context {I : Type} (eq : forall i j : I, {i = j} + {i <> j}) (d : list I) (c e R L k A root : Z).
Record rated := { own : I -> bool; rating : I -> Z }.
Implicit Types p q : rated.
Definition mark p i := if own p i then 1 else 0.
Definition count p := sum d (mark p).
Definition centred p i := count p * rating p i - sum d (fun i => mark p i * rating p i).
Definition clipped x := Z.max (- L) (Z.min L x).
Definition l_of p i := mark p i * clipped (Z.quot (c * centred p i) (e * count p)).
Definition share p := beside (fun i => k * mark p i) (l_of p).

(* The same items; one of them has another rating. *)
Definition another_value p q := exists j, In j d /\
  (forall i, own q i = own p i) /\ (forall i, i <> j -> rating q i = rating p i).
(* q has one rating more. *)
Definition one_more p q := exists j, In j d /\ own p j = false /\ own q j = true /\
  (forall i, i <> j -> own q i = own p i /\ rating q i = rating p i).

Context (c0 : 0 <= c) (e0 : 0 < e) (R0 : 0 <= R) (L0 : 0 <= L) (A0 : 0 <= A) (root0 : 0 <= root).
Context (covers_range : c * R <= e * A) (clip : 2 * (e * L) <= c * R)
  (mask : 2 * (e * k * (e * k)) <= c * R * (c * R)) (distinct : NoDup d).

(* Integers x that are nearer than 1 to u / N on at most root^2 items. *)
Lemma rounded (x u o : I -> Z) N U :
  0 < N -> 0 <= U -> (forall i, o i = 0 \/ o i = 1) ->
  (forall i, N * Z.abs (x i) <= o i * (Z.abs (u i) + N)) ->
  sq d u <= U * U -> sum d o <= root * root ->
  N * N * sq d x <= sq d u + 2 * (N * root * U) + N * N * (root * root).
Proof.
  intros N0 U0 o01 near size few.
  set (a i := o i * Z.abs (u i)).
  assert (le : N * N * sq d x <= sum d (fun i => u i * u i + 2 * N * (o i * a i) + N * N * o i)).
  { unfold sq, dot; rewrite <- sum_scale; apply sum_le; intro i; specialize (near i).
    unfold a; rewrite <- (Z.abs_square (x i)), <- (Z.abs_square (u i)).
    pose proof (Z.abs_nonneg (x i)); pose proof (Z.abs_nonneg (u i)).
    destruct (o01 i) as [e1 | e1]; rewrite e1 in *.
    - assert (Z.abs (x i) = 0) as -> by nia; nia.
    - assert (N * Z.abs (x i) * (N * Z.abs (x i)) <= (Z.abs (u i) + N) * (Z.abs (u i) + N))
        by (apply Z.mul_le_mono_nonneg; nia).
      lia. }
  rewrite !sum_add, !sum_scale in le.
  change (sum d (fun i => u i * u i)) with (sq d u) in le.
  pose proof (cauchy_schwarz d o a) as cs.
  assert (a2 : sq d a <= sq d u).
  { apply sum_le; intro i; unfold a; destruct (o01 i) as [-> | ->]; nia. }
  assert (o2 : sq d o = sum d o).
  { apply sum_ext; intro i; destruct (o01 i) as [-> | ->]; reflexivity. }
  change (sum d (fun i => o i * a i)) with (dot d o a) in le.
  assert (0 <= sum d o) by (apply sum_nonneg; intro i; destruct (o01 i) as [-> | ->]; lia).
  pose proof (sq_nonneg d a).
  assert (dot d o a <= root * U).
  { apply Z.square_le_simpl_nonneg; [nia|]; rewrite o2 in cs.
    transitivity (sum d o * sq d a); [exact cs|].
    transitivity (root * root * (U * U)); [apply Z.mul_le_mono_nonneg; lia | lia]. }
  nia.
Qed.

Lemma mark01 p i : mark p i = 0 \/ mark p i = 1.
Proof. unfold mark; destruct own; auto. Qed.
Lemma count_nonneg p : 0 <= count p.
Proof. apply sum_nonneg; intro i; destruct (mark01 p i) as [-> | ->]; lia. Qed.
Lemma far_apart p q : dist2 ([true; false] ** d) (share p) (share q) =
  k * k * dist2 d (mark p) (mark q) + dist2 d (l_of p) (l_of q).
Proof.
  assert (scaled : forall x y, dot d (fun i => k * mark x i) (fun i => k * mark y i) =
                        k * k * dot d (mark x) (mark y)).
  { intros x y; unfold dot; rewrite <- sum_scale; apply sum_ext; intro; ring. }
  unfold share; rewrite !dist2_expand; unfold sq; rewrite !dot_beside, !scaled; ring.
Qed.
Lemma clipped_near x y : Z.abs (clipped x - clipped y) <= Z.abs (x - y).
Proof. unfold clipped; lia. Qed.
Lemma clipped_small x : Z.abs (clipped x) <= L /\ Z.abs (clipped x) <= Z.abs x.
Proof. unfold clipped; clear - L0; lia. Qed.

Definition counted most p :=
  (forall i, own p i = true -> 0 <= rating p i <= R) /\ count p <= most.
Definition admitted p := counted (root * root) p.

Lemma value_moves p q : admitted p -> admitted q -> another_value p q ->
  dist2 ([true; false] ** d) (share p) (share q) <= (A + root) * (A + root).
Proof.
  intros [pr few] [qr _] (j & jd & owns & others).
  assert (marks : forall i, mark q i = mark p i) by (intro; unfold mark; now rewrite owns).
  assert (counts : count q = count p) by (apply sum_ext, marks).
  rewrite far_apart.
  replace (dist2 d (mark p) (mark q)) with 0.
  2: { symmetry; unfold dist2, sq, dot; rewrite <- (sum_zero d); apply sum_ext; intro; rewrite marks; ring. }
  rewrite Z.mul_0_r, Z.add_0_l.
  set (n := count p) in *; pose proof (count_nonneg p) as n0; fold n in n0.
  set (f i := mark p i * (rating p i - rating q i)).
  assert (single : forall i, i <> j -> f i = 0) by (intros i ne; unfold f; rewrite others by trivial; ring).
  assert (df : sum d f = f j) by (apply one_term; trivial).
  assert (df2 : sum d (fun i => f i * f i) = f j * f j).
  { apply (one_term d (fun i => f i * f i)); trivial; intros i ne; now rewrite single. }
  assert (fj : Z.abs (f j) <= R).
  { unfold f, mark; destruct (own p j) eqn:o; [|lia].
    pose proof (pr j o); pose proof (qr j ltac:(now rewrite owns)); lia. }
  set (u i := mark p i * (c * (centred p i - centred q i))).
  assert (centres : forall i, mark p i * (centred p i - centred q i) = n * f i - mark p i * f j).
  { intro i; unfold centred; rewrite counts; fold n; rewrite <- df; unfold f.
    replace (sum d (fun i0 => mark p i0 * (rating p i0 - rating q i0))) with
      (sum d (fun i0 => mark p i0 * rating p i0) - sum d (fun i0 => mark q i0 * rating q i0)); [ring|].
    transitivity (sum d (fun i0 => mark p i0 * rating p i0) + -1 * sum d (fun i0 => mark p i0 * rating q i0)).
    - rewrite (sum_ext d (fun i0 => mark q i0 * rating q i0) (fun i0 => mark p i0 * rating q i0)); [ring|].
      intro; now rewrite marks.
    - rewrite <- sum_scale, <- sum_add; apply sum_ext; intro; ring. }
  assert (size : sq d u = c * c * (f j * f j) * (n * n - n)).
  { unfold sq, dot, u.
    transitivity (sum d (fun i => c * c * (n * n) * (f i * f i)
      + (- (c * c) * 2 * n * f j * f i + c * c * (f j * f j) * mark p i))).
    - apply sum_ext; intro i.
      replace (mark p i * (c * (centred p i - centred q i))) with (c * (n * f i - mark p i * f j))
        by (rewrite <- centres; ring).
      assert (mf : mark p i * f i = f i) by (unfold f; destruct (mark01 p i) as [-> | ->]; ring).
      assert (mm : mark p i * mark p i = mark p i) by (destruct (mark01 p i) as [-> | ->]; ring).
      transitivity (c * c * (n * n * (f i * f i) - 2 * n * f j * (mark p i * f i)
        + f j * f j * (mark p i * mark p i))); [ring | rewrite mf, mm; ring].
    - rewrite !sum_add, !sum_scale, df, df2; change (sum d (mark p)) with n; ring. }
  destruct (Z.eq_dec n 0) as [none|some].
  - replace (dist2 d (l_of p) (l_of q)) with 0; [nia|].
    symmetry; unfold dist2, sq, dot; rewrite <- (sum_zero d); apply sum_ext; intro i; unfold l_of.
    fold n; rewrite counts, none, !Z.mul_0_r, marks.
    rewrite !quot_none; ring.
  - pose proof (rounded (fun i => l_of p i - l_of q i) u (mark p) (e * n) (e * n * A)
      ltac:(nia) ltac:(nia) (mark01 p)) as near.
    change (sq d (fun i => l_of p i - l_of q i)) with (dist2 d (l_of p) (l_of q)) in near.
    assert (sq d u <= e * n * A * (e * n * A)).
    { rewrite size.
      assert (f j * f j <= R * R) by nia.
      assert (c * c * (f j * f j) <= e * A * (e * A)) by nia.
      assert (0 <= c * c * (f j * f j)) by nia. nia. }
    enough (e * n * (e * n) * dist2 d (l_of p) (l_of q) <=
            e * n * (e * n) * ((A + root) * (A + root))).
    { apply Z.mul_le_mono_pos_l with (p := e * n * (e * n)); nia. }
    etransitivity; [apply near; trivial | nia].
    intro i; unfold l_of, u; rewrite marks, counts; fold n.
    destruct (mark01 p i) as [-> | ->]; [lia|].
    pose proof (quot_near (c * centred p i) (c * centred q i) (e * n) (e * n) ltac:(nia) ltac:(nia)) as close.
    pose proof (clipped_near (Z.quot (c * centred p i) (e * n)) (Z.quot (c * centred q i) (e * n))).
    replace (c * centred p i * (e * n) - c * centred q i * (e * n))
      with (e * n * (c * (centred p i - centred q i))) in close by ring.
    rewrite Z.abs_mul, (Z.abs_eq (e * n)) in close by nia.
    rewrite !Z.mul_1_l.
    assert (e * n * Z.abs (Z.quot (c * centred p i) (e * n) - Z.quot (c * centred q i) (e * n))
            <= Z.abs (c * (centred p i - centred q i)) + e * n).
    { apply Z.mul_le_mono_pos_l with (p := e * n); [nia|]; lia. }
    nia.
Qed.

Lemma more_moves p q : admitted p -> admitted q -> one_more p q ->
  dist2 ([true; false] ** d) (share p) (share q) <= (A + root) * (A + root).
Proof.
  intros [pr _] [qr few] (j & jd & pj & qj & others).
  assert (mpj : mark p j = 0) by (unfold mark; now rewrite pj).
  assert (mqj : mark q j = 1) by (unfold mark; now rewrite qj).
  assert (marks : forall i, i <> j -> mark q i = mark p i)
    by (intros i ne; unfold mark; destruct (others i ne) as [-> _]; reflexivity).
  set (n := count p); pose proof (count_nonneg p) as n0; fold n in n0.
  assert (counts : count q = n + 1).
  { unfold count; transitivity (sum d (fun i => mark p i + (mark q i - mark p i))).
    - apply sum_ext; intro; ring.
    - rewrite sum_add, (one_term d (fun i => mark q i - mark p i) j); trivial.
      + rewrite mpj, mqj; reflexivity.
      + intros i ne; rewrite marks by trivial; ring. }
  set (S := sum d (fun i => mark p i * rating p i)).
  assert (sums : sum d (fun i => mark q i * rating q i) = S + rating q j).
  { transitivity (sum d (fun i => mark p i * rating p i
      + (mark q i * rating q i - mark p i * rating p i))).
    - apply sum_ext; intro; ring.
    - rewrite sum_add, (one_term d (fun i => mark q i * rating q i - mark p i * rating p i) j); trivial.
      + rewrite mpj, mqj; fold S; ring.
      + intros i ne; rewrite marks by trivial; destruct (others i ne) as [_ ->]; ring. }
  assert (S0 : 0 <= S <= n * R).
  { unfold S, n, count; split.
    - apply sum_nonneg; intro i; unfold mark; destruct (own p i) eqn:o; [pose proof (pr i o)|]; lia.
    - rewrite Z.mul_comm, <- sum_scale; apply sum_le; intro i; unfold mark;
        destruct (own p i) eqn:o; [pose proof (pr i o)|]; lia. }
  pose proof (qr j qj) as rj; set (E := n * rating q j - S).
  assert (E0 : Z.abs E <= n * R) by (unfold E; nia).
  rewrite far_apart.
  replace (dist2 d (mark p) (mark q)) with 1.
  2: { symmetry; unfold dist2, sq, dot.
    rewrite (one_term d (fun i => (mark p i - mark q i) * (mark p i - mark q i)) j); trivial.
    - rewrite mpj, mqj; reflexivity.
    - intros i ne; rewrite marks by trivial; ring. }
  assert (cR2 : c * R * (c * R) <= e * A * (e * A)) by (apply Z.mul_le_mono_nonneg; nia).
  destruct (Z.eq_dec n 0) as [none|some].
  - assert (dist2 d (l_of p) (l_of q) <= 0).
    { transitivity (L * L * n); [|rewrite none; lia].
      unfold n, count, dist2, sq, dot; rewrite <- sum_scale; apply sum_le; intro i.
      unfold l_of; fold n; rewrite none, !Z.mul_0_r, quot_none.
      replace (clipped 0) with 0 by (unfold clipped; lia).
      destruct (eq i j) as [-> | ne].
      + unfold centred; rewrite counts, sums, none.
        assert (S = 0) as -> by (rewrite none in S0; lia).
        replace ((0 + 1) * rating q j - (0 + rating q j)) with 0 by ring.
        rewrite !Z.mul_0_r, Z.quot_0_l by lia.
        replace (clipped 0) with 0 by (unfold clipped; lia); rewrite mpj; lia.
      + rewrite marks by trivial; set (x := Z.quot _ _); clearbody x.
        assert (- L <= clipped x <= L) by (unfold clipped; lia).
        destruct (mark01 p i) as [-> | ->]; nia. }
    assert (e * e * (k * k) <= e * e * (A * A)) by lia.
    assert (k * k <= A * A) by (apply Z.mul_le_mono_pos_l with (p := e * e); nia).
    nia.
  - set (M := n * (n + 1)); set (N := e * M).
    assert (M0 : 0 < M) by (unfold M; nia); assert (N0 : 0 < N) by (unfold N; nia).
    set (W := Z.min (n * (c * Z.abs E)) (N * L)).
    assert (NL0 : 0 <= N * L) by nia.
    assert (cE0 : 0 <= c * Z.abs E) by nia.
    assert (W0 : 0 <= W) by (unfold W; nia).
    set (u i := mark p i * (c * E) + (mark q i - mark p i) * W).
    assert (size : sq d u = n * (c * E * (c * E)) + W * W).
    { unfold sq, dot.
      transitivity (sum d (fun i => c * E * (c * E) * mark p i + W * W * (mark q i - mark p i))).
      - apply sum_ext; intro i; unfold u; destruct (eq i j) as [-> | ne].
        + rewrite mpj, mqj; ring.
        + rewrite marks by trivial; destruct (mark01 p i) as [-> | ->]; ring.
      - rewrite sum_add, !sum_scale, (one_term d (fun i => mark q i - mark p i) j); trivial.
        + rewrite mpj, mqj; fold (count p); fold n; ring.
        + intros i ne; rewrite marks by trivial; ring. }
    assert (cR0 : 0 <= c * R) by nia.
    assert (first : 4 * (n * (c * E * (c * E))) <= M * M * (c * R * (c * R))).
    { assert (c * E * (c * E) <= n * n * (c * R * (c * R))).
      { rewrite <- (Z.abs_square (c * E)), Z.abs_mul, (Z.abs_eq c) by lia.
        replace (n * n * (c * R * (c * R))) with (n * (c * R) * (n * (c * R))) by ring.
        apply Z.mul_le_mono_nonneg; nia. }
      transitivity (4 * n * (n * n * (c * R * (c * R)))); [nia|].
      replace (4 * n * (n * n * (c * R * (c * R)))) with (n * n * (c * R * (c * R)) * (4 * n)) by ring.
      replace (M * M * (c * R * (c * R))) with (n * n * (c * R * (c * R)) * ((n + 1) * (n + 1)))
        by (unfold M; ring).
      apply Z.mul_le_mono_nonneg_l; nia. }
    assert (second : 4 * (W * W) <= M * M * (c * R * (c * R))).
    { assert (2 * W <= M * (c * R)).
      { transitivity (M * (2 * (e * L))); [unfold W, N; nia | apply Z.mul_le_mono_nonneg_l; lia]. }
      replace (4 * (W * W)) with (2 * W * (2 * W)) by ring.
      replace (M * M * (c * R * (c * R))) with (M * (c * R) * (M * (c * R))) by ring.
      apply Z.mul_le_mono_nonneg; lia. }
    assert (third : 2 * (N * N * (k * k)) <= M * M * (c * R * (c * R))).
    { replace (2 * (N * N * (k * k))) with (M * M * (2 * (e * k * (e * k)))) by (unfold N; ring).
      apply Z.mul_le_mono_nonneg_l; nia. }
    assert (all : M * M * (c * R * (c * R)) <= N * A * (N * A)).
    { replace (N * A * (N * A)) with (M * M * (e * A * (e * A))) by (unfold N; ring).
      apply Z.mul_le_mono_nonneg_l; nia. }
    pose proof (rounded (fun i => l_of p i - l_of q i) u (mark q) N (N * A)
      N0 ltac:(nia) (mark01 q)) as near.
    change (sq d (fun i => l_of p i - l_of q i)) with (dist2 d (l_of p) (l_of q)) in near.
    enough (N * N * (k * k * 1 + dist2 d (l_of p) (l_of q)) <= N * N * ((A + root) * (A + root)))
      by (apply Z.mul_le_mono_pos_l with (p := N * N); nia).
    rewrite Z.mul_add_distr_l.
    assert (near' : N * N * dist2 d (l_of p) (l_of q) <=
                    sq d u + 2 * (N * root * (N * A)) + N * N * (root * root)).
    { apply near; [|lia|exact few].
      intro i; unfold l_of, u; rewrite counts; fold n.
      destruct (eq i j) as [-> | ne].
      - rewrite mpj, mqj.
        replace (centred q j) with E by (unfold centred, E; rewrite counts, sums; ring).
        pose proof (quot_near (c * E) 0 (e * (n + 1)) 1 ltac:(nia) ltac:(lia)) as close.
        rewrite Z.quot_0_l, Z.sub_0_r, !Z.mul_1_r, Z.mul_0_l, Z.sub_0_r in close by lia.
        rewrite Z.abs_mul, (Z.abs_eq c) in close by lia.
        set (x := Z.quot (c * E) (e * (n + 1))) in *.
        destruct (clipped_small x).
        assert (N * Z.abs x <= n * (c * Z.abs E) + N).
        { replace (N * Z.abs x) with (n * (e * (n + 1) * Z.abs x)) by (unfold N, M; ring).
          replace (n * (c * Z.abs E) + N) with (n * (c * Z.abs E + e * (n + 1))) by (unfold N, M; ring).
          apply Z.mul_le_mono_nonneg_l; lia. }
        assert (N * Z.abs (clipped x) <= N * L) by (apply Z.mul_le_mono_nonneg_l; lia).
        assert (N * Z.abs (clipped x) <= N * Z.abs x) by (apply Z.mul_le_mono_nonneg_l; lia).
        replace (0 * clipped (Z.quot (c * centred p j) (e * n)) - 1 * clipped x) with (- clipped x) by ring.
        replace (0 * (c * E) + (1 - 0) * W) with W by ring.
        rewrite Z.abs_opp, (Z.abs_eq W) by lia; unfold W; lia.
      - rewrite marks by trivial; destruct (mark01 p i) as [-> | ->]; [lia|].
        pose proof (quot_near (c * centred p i) (c * centred q i) (e * n) (e * (n + 1))
          ltac:(nia) ltac:(nia)) as close.
        pose proof (clipped_near (Z.quot (c * centred p i) (e * n)) (Z.quot (c * centred q i) (e * (n + 1)))) as nearer.
        replace (c * centred p i * (e * (n + 1)) - c * centred q i * (e * n)) with (e * (c * E)) in close.
        2: { unfold centred; rewrite counts, sums; fold n S; destruct (others i ne) as [_ ->]; unfold E; ring. }
        rewrite Z.abs_mul, (Z.abs_eq e) in close by lia.
        set (x := Z.quot (c * centred p i) (e * n)) in *.
        set (y := Z.quot (c * centred q i) (e * (n + 1))) in *.
        assert (N * Z.abs (x - y) <= Z.abs (c * E) + N).
        { apply Z.mul_le_mono_pos_l with (p := e); [lia|].
          replace (e * (N * Z.abs (x - y))) with (e * n * (e * (n + 1)) * Z.abs (x - y)) by (unfold N, M; ring).
          replace (e * (Z.abs (c * E) + N)) with (e * Z.abs (c * E) + e * n * (e * (n + 1))) by (unfold N, M; ring).
          exact close. }
        replace (1 * (c * E) + (1 - 1) * W) with (c * E) by ring.
        rewrite !Z.mul_1_l.
        assert (N * Z.abs (clipped x - clipped y) <= N * Z.abs (x - y)) by (apply Z.mul_le_mono_nonneg_l; lia).
        lia. }
    rewrite size in near'.
    replace (N * N * ((A + root) * (A + root))) with
      (N * A * (N * A) + 2 * (N * root * (N * A)) + N * N * (root * root)) by ring.
    rewrite Z.mul_1_r; lia.
Qed.

(* One rating less, more or other. *)
Definition one_rating p q := another_value p q \/ one_more p q \/ one_more q p.
Theorem T12_one_rating p q : admitted p -> admitted q -> one_rating p q ->
  dist2 ([true; false] ** d) (share p) (share q) <= (A + root) * (A + root).
Proof.
  intros pa qa [value|[more|less]]; [now apply value_moves | now apply more_moves |].
  replace (dist2 _ _ _) with (dist2 ([true; false] ** d) (share q) (share p)); [now apply more_moves|].
  unfold dist2, sq, dot; apply sum_ext; intro; ring.
Qed.
End OneRating.

