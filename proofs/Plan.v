(* Plans: what the program states about each part of a release, line for line as in
   common/privacy (run_plan.h, mechanism/, ratings_bounds.cc), and that neighbours'
   sums are never farther apart. *)
From dpnmf Require Import Sums Sensitivity.

Inductive adjacency := ReplaceOne | AddRemoveOne | OneRating.
Record part := { symmetric : bool; left_norm : Z; right_norm : Z; whole_sensitivity : bool }.

(* L2Sensitivity, CostOfPart: the square, in steps. *)
Definition doubled (a : adjacency) (p : part) :=
  match a with AddRemoveOne => false | _ => negb (whole_sensitivity p) end.
Definition squared_sensitivity (a : adjacency) (p : part) :=
  (if doubled a p then 2 else 1) * (left_norm p * right_norm p).

(* One rating less, more or other is one person replaced: the list of people is
   public. *)
Definition neighbours {Person} a : list Person -> list Person -> Prop :=
  match a with AddRemoveOne => add_remove_one | _ => replace_one end.
Definition priced {Person I} a (d : list I) (add : Person -> I -> Z) (p : part) :=
  moves_at_most (neighbours a) d add (squared_sensitivity a p).

(* PartOfProducts: A, B, S_G, S_v; the blocks of class_moments; Semidefinite. *)
Definition products symmetric left right :=
  {| symmetric := symmetric; left_norm := left; right_norm := right; whole_sensitivity := false |}.
Definition whole left right :=
  {| symmetric := false; left_norm := left; right_norm := right; whole_sensitivity := true |}.
Definition objective most := whole most most.
(* most = ceil(2^bits tau) *)
Definition own_means a most :=
  whole (match a with AddRemoveOne => most * most | _ => 4 * most * most end) 1.
(* ratio = numerator / denominator = a / T *)
Definition items a mask rating numerator denominator :=
  whole (match a with
         | AddRemoveOne => mask + rating
         | _ => 2 * mask + 4 * rating
                - 2 * rating * (numerator * numerator) / (denominator * denominator)
         end) 1.
(* Under one_rating: the range in units of 10^-4 on the lattice 2^-bits, and the
   square root of the items that a person may have; both rounded up. *)
Definition ceil_div a b := - (- a / b).
Definition ceil_root x := let r := Z.sqrt x in if r * r =? x then r else r + 1.
Definition one_rating_items range bits features :=
  let root := ceil_root (Z.min features 1000000) in
  let far := ceil_div (range * 2 ^ bits) 10000 + root in whole (far * far) 1.
Definition signed_products a z_norm g_norm :=
  whole ((match a with AddRemoveOne => 1 | _ => 4 end) * z_norm) g_norm.

Lemma by_relation {Person I} (d : list I) (add : Person -> I -> Z) a p replace remove :
  sensitivity d add replace remove ->
  squared_sensitivity a p = match a with AddRemoveOne => remove | _ => replace end ->
  priced a d add p.
Proof. intros [r s] e; unfold priced; rewrite e; destruct a; assumption. Qed.
Ltac priced_by theorem :=
  eapply by_relation; [apply theorem; eassumption |
    unfold squared_sensitivity; match goal with a : adjacency |- _ => destruct a end;
    cbn -[Z.mul Z.div]; ring].

Section Releases.
Context {Person I J : Type} (a : adjacency) (d : list I) (e : list J).

(* statistics and gradient: A; moments and aimed: S_G; residuals, co-ratings *)
Theorem second_moment_is_priced (k : Person -> I -> Z) Q : (forall p, sq d (k p) <= Q) ->
  priced a (d ** d) (fun p => outer (k p) (k p)) (products true Q Q).
Proof. intro; priced_by @T3_second_moment. Qed.
(* statistics and gradient: B *)
Theorem products_are_priced (l : Person -> I -> Z) (k : Person -> J -> Z) Q_u Q_h :
  (forall p i, 0 <= l p i) -> (forall p j, 0 <= k p j) ->
  (forall p, sq d (l p) <= Q_u) -> (forall p, sq e (k p) <= Q_h) ->
  priced a (d ** e) (fun p => outer (l p) (k p)) (products false Q_u Q_h).
Proof. intros; priced_by @T4_products. Qed.
(* moments and aimed: S_v *)
Theorem mean_is_priced (l : Person -> I -> Z) Q :
  (forall p i, 0 <= l p i) -> (forall p, sq d (l p) <= Q) -> priced a d l (products false Q 1).
Proof. intros; priced_by @T4a_mean. Qed.
(* class_moments: Z, all entries drawn *)
Theorem classes_are_priced {C} eq (classes : list C) constant (label : Person -> option C)
    (k : Person -> I -> Z) Q : NoDup classes -> (forall p, sq d (k p) <= Q) ->
  let whole := constant * constant + Q in
  let z p := with_constant constant (k p) in let e := None :: map Some d in
  priced a (classes ** (e ** e)) (fun p => outer (at_label eq (label p)) (outer (z p) (z p)))
    (products false whole whole).
Proof. cbv zeta; intros; priced_by @T4c_classes. Qed.
(* corrections: B *)
Theorem corrections_are_priced (l : Person -> I -> Z) (g : Person -> J -> Z) Q_z Q_h :
  (forall p, sq d (l p) <= Q_z) -> (forall p, sq e (g p) <= Q_h) ->
  priced a (d ** e) (fun p => outer (l p) (g p)) (signed_products a Q_z Q_h).
Proof. intros; priced_by @T14_corrections. Qed.
(* profiles *)
Theorem profiles_are_priced {C} (rows : Person -> list C) (z : Person -> C -> I -> Z) Q :
  0 <= Q -> (forall p, sq (d ** d) (gram (rows p) (z p)) <= Q * Q) ->
  priced a (d ** d) (fun p => gram (rows p) (z p)) (products true Q Q).
Proof. intros; priced_by @T13_semidefinite. Qed.
Theorem objective_is_priced (x : Person -> unit -> Z) M : (forall p i, 0 <= x p i <= M) ->
  priced a [tt] x (objective M).
Proof. intros; priced_by @T4b_objective. Qed.
Theorem own_means_are_priced (x y : Person -> Z) T :
  0 < T -> (forall p, 0 <= y p /\ x p * x p + y p * T <= T * T) ->
  priced a [true; false] (fun p i => if i then x p else y p) (own_means a T).
Proof. intros; priced_by @T11_own_means. Qed.
Theorem items_are_priced (own : Person -> I -> bool) k (l : Person -> I -> Z) Q_a Q_c num den :
  0 < num <= den ->
  let m p i := if own p i then k p else 0 in
  (forall p, sq d (m p) <= Q_a) -> (forall p, sq d (l p) <= Q_c) ->
  (forall p i, num * Z.abs (l p i) <= den * m p i) ->
  priced a ([true; false] ** d) (fun p => beside (m p) (l p)) (items a Q_a Q_c num den).
Proof.
  intros ratio m gate_m gate_l clamp.
  destruct (T12_items d own k l Q_a Q_c num den ratio gate_m gate_l clamp) as [replace remove].
  destruct a; unfold priced, squared_sensitivity, items; cbn -[Z.mul Z.div];
    rewrite Z.mul_1_l, Z.mul_1_r; assumption.
Qed.
End Releases.

(* items under one_rating: the range R, the clip L and the mask k on the lattice. *)
Theorem one_rating_items_are_priced {I} (eq : forall i j : I, {i = j} + {i <> j}) (d : list I)
    R bits features L k :
  0 <= R -> 0 <= bits -> 0 <= features -> 0 <= L -> NoDup d ->
  2 * (10000 * L) <= 2 ^ bits * R ->
  2 * (10000 * k * (10000 * k)) <= 2 ^ bits * R * (2 ^ bits * R) ->
  let most := Z.min features 1000000 in
  let near p q := counted d R most p /\ counted d R most q /\ one_rating d p q in
  moves_at_most (one_differs near) ([true; false] ** d) (share d (2 ^ bits) 10000 L k)
    (squared_sensitivity OneRating (one_rating_items R bits features)).
Proof.
  intros R0 bits0 features0 L0 distinct clip mask most near.
  set (root := ceil_root most); set (A := ceil_div (R * 2 ^ bits) 10000).
  assert (two : 0 < 2 ^ bits) by (apply Z.pow_pos_nonneg; lia).
  assert (roots : 0 <= root /\ most <= root * root).
  { unfold root, ceil_root; pose proof (Z.sqrt_spec most ltac:(unfold most; lia)) as s.
    pose proof (Z.sqrt_nonneg most); cbv zeta in *; unfold Z.succ in s.
    destruct (Z.eqb_spec (Z.sqrt most * Z.sqrt most) most); lia. }
  assert (range : 2 ^ bits * R <= 10000 * A).
  { unfold A, ceil_div; pose proof (Z.mul_div_le (- (R * 2 ^ bits)) 10000 ltac:(lia)); lia. }
  assert (0 <= A) by nia.
  replace (squared_sensitivity _ _) with ((A + root) * (A + root))
    by (unfold squared_sensitivity, one_rating_items; cbn -[Z.mul Z.add]; fold most root A; ring).
  apply differing; intros p q ([pr pc] & [qr qc] & one).
  apply (T12_one_rating eq d (2 ^ bits) 10000 R L k A root); trivial; try lia; split; trivial; lia.
Qed.
