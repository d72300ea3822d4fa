(* The charge of a release (docs/reference/privacy.md, Theorem 5 and section 5), in the
   program's integers, covers the scaled squared distance of neighbours. *)
From dpnmf Require Import Sums Sensitivity Plan.
From Coq Require Import Reals Lra Psatz.
Open Scope Z_scope.

(* ---------------------------------------------- CostOfPart, run_plan.cc *)
Definition fraction_bits := 60.               (* MuSquared::kFractionBits *)
Definition cost_of_part (a : adjacency) (p : part) stddev :=
  ceil_div (squared_sensitivity a p * 2 ^ fraction_bits)
           ((if symmetric p then 2 else 1) * (stddev * stddev)).
(* Parts with the sigma of each; on the diagonal at least sqrt(2) times as much. *)
Definition cost_of_drawing a parts :=
  fold_right (fun ps units => cost_of_part a (fst ps) (snd ps) + units) 0 parts.

(* CeilOfScaledRatio, run_plan.cc: long division, bit after bit. *)
Fixpoint long_division (shift : nat) (quotient remainder denominator : Z) :=
  match shift with
  | O => if remainder =? 0 then quotient else quotient + 1
  | S shift =>
      if denominator <=? 2 * remainder
      then long_division shift (2 * quotient + 1) (2 * remainder - denominator) denominator
      else long_division shift (2 * quotient) (2 * remainder) denominator
  end.
Definition ceil_of_scaled_ratio numerator shift denominator :=
  long_division shift (numerator / denominator) (numerator mod denominator) denominator.

Theorem long_division_is_exact numerator shift denominator :
  0 < denominator ->
  ceil_of_scaled_ratio numerator shift denominator =
  ceil_div (numerator * 2 ^ Z.of_nat shift) denominator.
Proof.
  intro pos; unfold ceil_of_scaled_ratio, ceil_div.
  rewrite (Z.div_mod numerator denominator) at 3 by lia.
  pose proof (Z.mod_pos_bound numerator denominator pos) as small.
  generalize dependent (numerator mod denominator); generalize (numerator / denominator).
  induction shift as [|shift IH]; intros q r small; cbn [long_division].
  - change (Z.of_nat 0) with 0; rewrite Z.pow_0_r.
    destruct (Z.eqb_spec r 0); apply Z.opp_inj; rewrite Z.opp_involutive.
    + apply Z.div_unique with 0; lia.
    + apply Z.div_unique with (denominator - r); lia.
  - rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
    destruct (Z.leb_spec denominator (2 * r)); rewrite IH by lia; do 2 f_equal; ring.
Qed.

Lemma ceil_div_le a b : 0 < b -> a <= ceil_div a b * b.
Proof. intro; unfold ceil_div; pose proof (Z.mul_div_le (- a) b H); lia. Qed.

(* ------------------------------------------------- what is drawn, and how *)
Open Scope R_scope.
(* Entries with the standard deviation of each; the squared length of what a
   difference M is after each entry is divided by its own. *)
Fixpoint scaled {I} (drawn : list (I * Z)) (M : I -> Z) : R :=
  match drawn with
  | [] => 0
  | (i, stddev) :: rest => (IZR (M i) / IZR stddev) ^ 2 + scaled rest M
  end.
Definition everywhere {I} (stddev : Z) (d : list I) := map (fun i => (i, stddev)) d.
Fixpoint upper_triangle {I} (diagonal stddev : Z) (d : list I) : list (I * I * Z) :=
  match d with
  | [] => []
  | i :: r => (i, i, diagonal) :: everywhere stddev (map (pair i) r)
              ++ upper_triangle diagonal stddev r
  end.

Lemma scaled_append {I} (a b : list (I * Z)) M : scaled (a ++ b) M = scaled a M + scaled b M.
Proof. induction a as [|[i s] a IH]; cbn [app scaled]; lra. Qed.
Lemma scaled_everywhere {I} (d : list I) s M :
  scaled (everywhere s d) M = IZR (sq d M) / (IZR s * IZR s).
Proof.
  unfold sq, dot; induction d as [|i d IH]; cbn [everywhere map scaled sum]; [lra|].
  unfold everywhere in IH; rewrite IH, plus_IZR, mult_IZR.
  unfold Rdiv; rewrite Rinv_mult; ring.
Qed.

(* Only the upper triangle of a symmetric sum is drawn. *)
Lemma scaled_upper_triangle {I} (d : list I) diagonal stddev M :
  (0 < stddev)%Z -> (2 * (stddev * stddev) <= diagonal * diagonal)%Z ->
  (forall i j, M (i, j) = M (j, i)) ->
  scaled (upper_triangle diagonal stddev d) M
    <= IZR (sq (d ** d) M) / (2 * (IZR stddev * IZR stddev)).
Proof.
  intros pos wide symmetric.
  assert (s0 : 0 < IZR stddev * IZR stddev) by (rewrite <- mult_IZR; apply IZR_lt; nia).
  apply IZR_le in wide; rewrite !mult_IZR in wide.
  assert (rows : forall i r, sq ((i :: r) ** (i :: r)) M =
    (M (i, i) * M (i, i) + 2 * sq (map (pair i) r) M + sq (r ** r) M)%Z).
  { intros; unfold sq, dot; rewrite !sum_pairs; cbn [sum]; rewrite sum_add, sum_map.
    rewrite (sum_ext r (fun j => M (j, i) * M (j, i)) (fun j => M (i, j) * M (i, j)))%Z.
    2: intro; now rewrite symmetric. lia. }
  induction d as [|i d IH]; [cbn; lra|].
  rewrite rows, !plus_IZR, !mult_IZR; cbn [upper_triangle scaled].
  rewrite scaled_append, scaled_everywhere.
  assert (on_diagonal : (IZR (M (i, i)) / IZR diagonal) ^ 2 <=
          IZR (M (i, i)) * IZR (M (i, i)) / (2 * (IZR stddev * IZR stddev))).
  { replace ((_ / _) ^ 2) with (IZR (M (i, i)) * IZR (M (i, i)) / (IZR diagonal * IZR diagonal))
      by (unfold Rdiv; rewrite Rinv_mult; ring).
    apply Rmult_le_compat_l; [nra|]; apply Rinv_le_contravar; lra. }
  replace (IZR (sq (map (pair i) d) M) / (IZR stddev * IZR stddev))
    with (2 * IZR (sq (map (pair i) d) M) / (2 * (IZR stddev * IZR stddev))) by (field; nra).
  unfold Rdiv in *; rewrite !Rmult_plus_distr_r; lra.
Qed.

(* ------------------------------------------------------------- the charge *)
Definition mu2_of (units : Z) : R := IZR units / IZR (2 ^ fraction_bits).

Lemma charge_covers a p stddev far :
  (0 < stddev)%Z -> (far <= squared_sensitivity a p)%Z ->
  IZR far / ((if symmetric p then 2 else 1) * (IZR stddev * IZR stddev))
    <= mu2_of (cost_of_part a p stddev).
Proof.
  intros pos le; unfold mu2_of, cost_of_part.
  set (delta2 := squared_sensitivity a p) in *.
  set (variance := ((if symmetric p then 2 else 1) * (stddev * stddev))%Z).
  assert (v0 : (0 < variance)%Z) by (unfold variance; destruct (symmetric p); nia).
  replace ((if symmetric p then 2 else 1) * (IZR stddev * IZR stddev)) with (IZR variance)
    by (unfold variance; destruct (symmetric p); rewrite !mult_IZR; reflexivity).
  pose proof (ceil_div_le (delta2 * 2 ^ fraction_bits) variance v0) as up.
  apply IZR_le in up, le; rewrite !mult_IZR in up; apply IZR_lt in v0.
  assert (0 < IZR (2 ^ fraction_bits)) by (apply IZR_lt; reflexivity).
  apply Rmult_le_reg_r with (IZR variance); trivial.
  apply Rmult_le_reg_r with (IZR (2 ^ fraction_bits)); trivial.
  replace (IZR far / _ * _ * _) with (IZR far * IZR (2 ^ fraction_bits)) by (field; lra).
  match goal with |- _ <= ?units / ?one * ?v * _ =>
    replace (units / one * v * one) with (units * v) by (field; lra) end.
  nra.
Qed.

(* A part without symmetry, and one of which the upper triangle is drawn. *)
Theorem plain_part_is_covered {Person I} a (d : list I) (add : Person -> I -> Z) p stddev :
  symmetric p = false -> priced a d add p -> (0 < stddev)%Z ->
  forall v w, neighbours a v w ->
  scaled (everywhere stddev d) (fun i => total add v i - total add w i)%Z
    <= mu2_of (cost_of_part a p stddev).
Proof.
  intros plain price pos v w near; rewrite scaled_everywhere.
  pose proof (charge_covers a p stddev _ pos (price v w near)) as le.
  rewrite plain, Rmult_1_l in le; exact le.
Qed.
Theorem symmetric_part_is_covered {Person I} a (d : list I) (add : Person -> I * I -> Z) p
    diagonal stddev :
  symmetric p = true -> priced a (d ** d) add p -> (forall n i j, add n (i, j) = add n (j, i)) ->
  (0 < stddev)%Z -> (2 * (stddev * stddev) <= diagonal * diagonal)%Z ->
  forall v w, neighbours a v w ->
  scaled (upper_triangle diagonal stddev d) (fun ij => total add v ij - total add w ij)%Z
    <= mu2_of (cost_of_part a p stddev).
Proof.
  intros square price same pos wide v w near.
  eapply Rle_trans; [apply scaled_upper_triangle; trivial|].
  - intros i j; unfold total; f_equal; apply sum_ext; intro n; apply same.
  - pose proof (charge_covers a p stddev _ pos (price v w near)) as le.
    rewrite square in le; exact le.
Qed.

(* Theorem 5: A and B of one round are one Gaussian release. *)
Theorem T5_round {Person I J} a (d : list I) (e : list J) (l : Person -> I -> Z)
    (k : Person -> J -> Z) Q_u Q_h diagonal stddev_A stddev_B :
  (forall p i, 0 <= l p i)%Z -> (forall p j, 0 <= k p j)%Z ->
  (forall p, sq d (l p) <= Q_u)%Z -> (forall p, sq e (k p) <= Q_h)%Z ->
  (0 < stddev_A)%Z -> (2 * (stddev_A * stddev_A) <= diagonal * diagonal)%Z -> (0 < stddev_B)%Z ->
  let A p := outer (k p) (k p) in let B p := outer (l p) (k p) in
  forall v w, neighbours a v w ->
  scaled (upper_triangle diagonal stddev_A e) (fun ij => total A v ij - total A w ij)%Z +
  scaled (everywhere stddev_B (d ** e)) (fun ij => total B v ij - total B w ij)%Z
    <= mu2_of (cost_of_drawing a [(products true Q_h Q_h, stddev_A);
                                  (products false Q_u Q_h, stddev_B)]).
Proof.
  intros l0 k0 gate_l gate_k a0 wide b0 A B v w near.
  pose proof (symmetric_part_is_covered a e A (products true Q_h Q_h) diagonal stddev_A eq_refl
    (second_moment_is_priced a e k Q_h gate_k) (fun p i j => Z.mul_comm _ _) a0 wide v w near).
  pose proof (plain_part_is_covered a (d ** e) B (products false Q_u Q_h) stddev_B eq_refl
    (products_are_priced a d e l k Q_u Q_h l0 k0 gate_l gate_k) b0 v w near).
  unfold cost_of_drawing; cbn [fold_right fst snd].
  unfold mu2_of, Rdiv in *; rewrite !plus_IZR; lra.
Qed.

(* ------------------------------------------------------------- the ledger *)
(* The filter: a row of so many units is written only if the sum stays within
   the cap; what is returned was reserved before. *)
Open Scope Z_scope.
Definition charge (cap spent units : Z) := if spent + units <=? cap then spent + units else spent.
Theorem filter_holds cap requests spent :
  spent <= cap -> fold_left (charge cap) requests spent <= cap.
Proof.
  revert spent; induction requests as [|u r IH]; intros spent le; trivial; cbn; apply IH.
  unfold charge; destruct (Z.leb_spec (spent + u) cap); lia.
Qed.
(* Rows rounded up and a cap rounded down: the sum of the true costs stays
   within the true cap, M. *)
Theorem true_costs_stay_within_the_cap (rows : list (R * Z)) cap M :
  (forall mu2 units, In (mu2, units) rows -> mu2 <= mu2_of units)%R ->
  (mu2_of cap <= M)%R -> fold_right Z.add 0 (map snd rows) <= cap ->
  (fold_right Rplus 0 (map fst rows) <= M)%R.
Proof.
  intros up down within; apply Rle_trans with (mu2_of (fold_right Z.add 0 (map snd rows))).
  - clear within; induction rows as [|[mu2 units] rows IH]; cbn [map fold_right fst snd].
    + unfold mu2_of; lra.
    + pose proof (up mu2 units (or_introl eq_refl)).
      unfold mu2_of, Rdiv in *; rewrite plus_IZR, Rmult_plus_distr_r.
      apply Rplus_le_compat; trivial; apply IH; intros; apply up; now right.
  - apply Rle_trans with (mu2_of cap); trivial; apply Rmult_le_compat_r;
      [apply Rlt_le, Rinv_0_lt_compat, IZR_lt; reflexivity | now apply IZR_le].
Qed.
