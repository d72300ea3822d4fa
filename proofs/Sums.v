(* Integer vectors over a finite list of indices; sums over people and their
   neighbours. A matrix is a vector whose indices are pairs. No axioms. *)
From Coq Require Export ZArith List Lia.
Export ListNotations.
Open Scope Z_scope.

Fixpoint sum {I} (d : list I) (f : I -> Z) : Z :=
  match d with [] => 0 | i :: rest => f i + sum rest f end.

(* x . y, |x|^2, |x - y|^2 and x y' *)
Definition dot {I} (d : list I) (x y : I -> Z) := sum d (fun i => x i * y i).
Definition sq {I} (d : list I) (x : I -> Z) := dot d x x.
Definition dist2 {I} (d : list I) (x y : I -> Z) := sq d (fun i => x i - y i).
Definition outer {I J} (x : I -> Z) (y : J -> Z) (ij : I * J) :=
  x (fst ij) * y (snd ij).
Infix "**" := list_prod (at level 40, left associativity).

(* The released sum over people, and who is a neighbour of whom. *)
Definition total {Person I} (add : Person -> I -> Z) (people : list Person) i :=
  sum people (fun p => add p i).
Definition replace_one {Person} (v w : list Person) :=
  exists before p q after, v = before ++ p :: after /\ w = before ++ q :: after.
Definition add_remove_one {Person} (v w : list Person) :=
  exists before p after, (v = before ++ p :: after /\ w = before ++ after) \/
                         (w = before ++ p :: after /\ v = before ++ after).
(* One entry of the list is another: one rating of a person, say. *)
Definition one_differs {Person} (near : Person -> Person -> Prop) v w :=
  exists before p q after, near p q /\ v = before ++ p :: after /\ w = before ++ q :: after.
(* Delta^2: no two neighbours' sums are farther apart. *)
Definition moves_at_most {Person I} (neighbours : list Person -> list Person -> Prop)
    (d : list I) (add : Person -> I -> Z) (bound : Z) :=
  forall v w, neighbours v w -> dist2 d (total add v) (total add w) <= bound.

(* ---------------------------------------------------------------- sums *)
Section Sums.
Context {I : Type}.
Implicit Types (d : list I) (f g x y : I -> Z).

Lemma sum_ext d f g : (forall i, f i = g i) -> sum d f = sum d g.
Proof. intro e; induction d; simpl; rewrite ?e; lia. Qed.
Lemma sum_add d f g : sum d (fun i => f i + g i) = sum d f + sum d g.
Proof. induction d; simpl; lia. Qed.
Lemma sum_scale d a f : sum d (fun i => a * f i) = a * sum d f.
Proof. induction d; simpl; lia. Qed.
Lemma sum_le d f g : (forall i, f i <= g i) -> sum d f <= sum d g.
Proof. intro le; induction d as [|i d]; simpl; [|pose proof (le i)]; lia. Qed.
Lemma sum_zero d : sum d (fun _ => 0) = 0.
Proof. induction d; simpl; lia. Qed.
Lemma sum_nonneg d f : (forall i, 0 <= f i) -> 0 <= sum d f.
Proof. intro le; rewrite <- (sum_zero d); apply sum_le, le. Qed.
Lemma sum_append c d f : sum (c ++ d) f = sum c f + sum d f.
Proof. induction c; simpl; lia. Qed.
Lemma sum_map {J} (e : list J) (h : J -> I) f : sum (map h e) f = sum e (fun j => f (h j)).
Proof. induction e; simpl; lia. Qed.

(* ------------------------------------------------------------- lengths *)
Lemma sq_nonneg d x : 0 <= sq d x.
Proof. apply sum_nonneg; intro; nia. Qed.
Lemma dot_nonneg d x y : (forall i, 0 <= x i) -> (forall i, 0 <= y i) -> 0 <= dot d x y.
Proof. intros p q; apply sum_nonneg; intro i; specialize (p i); specialize (q i); nia. Qed.
Lemma dot_sym d x y : dot d x y = dot d y x.
Proof. apply sum_ext; intro; lia. Qed.

Lemma sq_combine d s x y :
  sq d (fun i => x i + s * y i) = sq d x + s * s * sq d y + 2 * s * dot d x y.
Proof.
  unfold sq, dot; rewrite <- !sum_scale, <- !sum_add; apply sum_ext; intro; lia.
Qed.
Lemma dist2_expand d x y : dist2 d x y = sq d x + sq d y - 2 * dot d x y.
Proof.
  transitivity (sq d (fun i => x i + -1 * y i)).
  - apply sum_ext; intro; ring.
  - rewrite sq_combine; ring.
Qed.
(* Whatever the signs are: |x - y|^2 <= 2 |x|^2 + 2 |y|^2. *)
Lemma dist2_any d x y : dist2 d x y <= 2 * sq d x + 2 * sq d y.
Proof.
  pose proof (sq_nonneg d (fun i => x i + 1 * y i)) as e.
  rewrite sq_combine in e; rewrite dist2_expand; lia.
Qed.
End Sums.

Lemma sum_pairs {I J} (d : list I) (e : list J) f :
  sum (d ** e) f = sum d (fun i => sum e (fun j => f (i, j))).
Proof.
  induction d; simpl; trivial; rewrite sum_append, sum_map; lia.
Qed.
Lemma sum_swap {I J} (d : list I) (e : list J) f :
  sum d (fun i => sum e (fun j => f i j)) = sum e (fun j => sum d (fun i => f i j)).
Proof.
  induction d as [|i d IH]; simpl; [now rewrite sum_zero | now rewrite sum_add, <- IH].
Qed.
Lemma dot_outer {I J} (d : list I) (e : list J) l k z g :
  dot (d ** e) (outer l k) (outer z g) = dot d l z * dot e k g.
Proof.
  unfold dot, outer; rewrite sum_pairs, Z.mul_comm, <- sum_scale.
  apply sum_ext; intro i; simpl.
  rewrite Z.mul_comm, <- sum_scale; apply sum_ext; intro j; lia.
Qed.
Lemma sq_outer {I J} (d : list I) (e : list J) l k :
  sq (d ** e) (outer l k) = sq d l * sq e k.
Proof. apply dot_outer. Qed.
(* Cauchy and Schwarz, from |x y' - y x'|^2 >= 0. *)
Lemma cauchy_schwarz {I} (d : list I) x y : dot d x y * dot d x y <= sq d x * sq d y.
Proof.
  pose proof (sq_nonneg (d ** d) (fun i => outer x y i - outer y x i)) as e.
  fold (dist2 (d ** d) (outer x y) (outer y x)) in e.
  rewrite dist2_expand, !sq_outer, dot_outer, (dot_sym d y x) in e; lia.
Qed.

(* ---------------------------------------------------- one person's part *)
Section People.
Context {Person I : Type} (d : list I) (add : Person -> I -> Z).

Theorem replacing bound :
  (forall p q, dist2 d (add p) (add q) <= bound) -> moves_at_most replace_one d add bound.
Proof.
  intros le v w (b & p & q & a & -> & ->); rewrite <- (le p q); apply Z.eq_le_incl.
  apply sum_ext; intro i; unfold total; rewrite !sum_append; simpl; f_equal; lia.
Qed.
Theorem differing (near : Person -> Person -> Prop) bound :
  (forall p q, near p q -> dist2 d (add p) (add q) <= bound) ->
  moves_at_most (one_differs near) d add bound.
Proof.
  intros le v w (b & p & q & a & n & -> & ->); rewrite <- (le p q n); apply Z.eq_le_incl.
  apply sum_ext; intro i; unfold total; rewrite !sum_append; simpl; f_equal; lia.
Qed.
Theorem adding bound :
  (forall p, sq d (add p) <= bound) -> moves_at_most add_remove_one d add bound.
Proof.
  intros le v w (b & p & a & [[-> ->] | [-> ->]]); rewrite <- (le p); apply Z.eq_le_incl;
    apply sum_ext; intro i; unfold total; rewrite !sum_append; simpl; lia.
Qed.
End People.
