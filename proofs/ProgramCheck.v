(* The link to the program: each line of tests/golden/privacy_lines.csv says what
   the program charges for one part of a release, and the bounds that its gate
   enforces. A right line is covered: whatever people the gate admits, neighbours'
   sums are no farther apart, in units of the noise, than what is charged. *)
From Coq Require Export String.
From Coq Require Import Reals.
From dpnmf Require Export Sums Sensitivity Plan Charge.
Open Scope string_scope.
Open Scope Z_scope.

Record line := { release : string; name : string; rounds : Z; shape : part; stddev : Z;
                 diagonal : Z; units : Z; bounds : list Z }.
Record run := { relation : adjacency; all_units : Z; lines : list line }.

(* ------------------------------------------------------ what the gate admits *)
Inductive gate :=
| Squares (Q : Z)                       (* k k', |k|^2 <= Q *)
| Products (Q_u Q_h : Z)                (* l k', no negative entries *)
| Mean (Q : Z)                          (* l, no negative entries, |l|^2 <= Q *)
| Number (M : Z)                        (* a number of [0, M] *)
| Classes (a Q : Z)                     (* z z' by class, z = (a, k), |k|^2 <= Q *)
| OwnMeans (T : Z)                      (* (x, y) under the arc of height T *)
| Items (Q_a Q_c a T : Z)               (* k and l of own items, a |l| <= T k *)
| OneRatingItems (R bits D L k : Z)     (* the same under one_rating: R in 10^-4 *)
| Semidefinite (Q : Z)                  (* sums of z z', of length at most Q *)
| SignedProducts (Q_z Q_h : Z).         (* l g', entries of any sign *)

(* The gate of each part that the program releases, from its bounds in the order of
   GateBounds in tests/curator/gate/privacy_lines_test.cc. *)
Definition gate_of (l : line) : option gate :=
  match release l, name l, bounds l with
  | "statistics", "A", [Q] | "gradient", "A", [Q] | "moments", "G", [Q]          (* T3 *)
  | "aimed", "Z", [Q]                                                            (* T4d *)
  | "co-ratings", "C", [Q] | "residuals", "S", [Q] | "corrections", "A", [Q]     (* T13 *)
      => Some (Squares Q)
  | "profiles", "P", [Q] => Some (Semidefinite Q)                                (* T13 *)
  | "statistics", "B", [Q_u; Q_h] | "gradient", "B", [Q_u; Q_h]                  (* T4 *)
      => Some (Products Q_u Q_h)
  | "mean", "mean", [Q] => Some (Mean Q)                                         (* T4a *)
  | "objective", "objective", [M] => Some (Number M)                             (* T4b *)
  | "class moments", "Z", [constant; Q] => Some (Classes constant Q)             (* T4c *)
  | "items", "mean", [T] => Some (OwnMeans T)                                    (* T11 *)
  | "items", "items", [Q_a; Q_c; numerator; denominator] =>                      (* T12 *)
      Some (Items Q_a Q_c numerator denominator)
  | "items", "items", [R; bits; D; L; k] => Some (OneRatingItems R bits D L k)
  | "corrections", "B", [Q_z; Q_h] => Some (SignedProducts Q_z Q_h)              (* T14 *)
  | _, _, _ => None
  end.

(* The part that a theorem of Plan.v prices for this gate. *)
Definition part_of (a : adjacency) (g : gate) : part :=
  match g with
  | Squares Q | Semidefinite Q => products true Q Q
  | Products Q_u Q_h => products false Q_u Q_h
  | Mean Q => products false Q 1
  | Number M => objective M
  | Classes constant Q => let whole := constant * constant + Q in products false whole whole
  | OwnMeans T => own_means a T
  | Items Q_a Q_c numerator denominator => items a Q_a Q_c numerator denominator
  | OneRatingItems R bits D _ _ => one_rating_items R bits D
  | SignedProducts Q_z Q_h => signed_products a Q_z Q_h
  end.
(* Conditions of the theorem on the bounds and the relation. *)
Definition is_one_rating a := match a with OneRating => true | _ => false end.
Definition usable (a : adjacency) (g : gate) : bool :=
  match g with
  | OwnMeans T => 0 <? T
  | Items _ _ numerator denominator => negb (is_one_rating a) && (0 <? numerator) && (numerator <=? denominator)
  | OneRatingItems R bits D L k =>
      is_one_rating a && (0 <=? R) && (0 <=? bits) && (0 <=? D) && (0 <=? L) && (2 * (10000 * L) <=? 2 ^ bits * R) &&
      (2 * (10000 * k * (10000 * k)) <=? 2 ^ bits * R * (2 ^ bits * R))
  | Semidefinite Q => 0 <=? Q
  | _ => true
  end.

Definition same (p q : part) : bool :=
  Bool.eqb (symmetric p) (symmetric q) && (left_norm p =? left_norm q) &&
  (right_norm p =? right_norm q) && Bool.eqb (whole_sensitivity p) (whole_sensitivity q).
Definition right_line (a : adjacency) (l : line) : bool :=
  match gate_of l with
  | Some g =>
      usable a g && same (part_of a g) (shape l) && (0 <? stddev l) &&
      (negb (symmetric (shape l)) || (2 * (stddev l * stddev l) <=? diagonal l * diagonal l)) &&
      (cost_of_part a (shape l) (stddev l) =? units l)
  | None => false
  end.
(* All rounds of a run cost what is reserved for it. *)
Definition right_run (r : run) : bool :=
  forallb (right_line (relation r)) (lines r) &&
  (sum (lines r) (fun l => rounds l * units l) =? all_units r).

(* ---------------------------------------------- a right line is covered *)
Definition covers {Person I} a (drawn : list (I * Z)) (add : Person -> I -> Z) units :=
  forall v w, neighbours a v w ->
  (scaled drawn (fun i => total add v i - total add w i)%Z <= mu2_of units)%R.

Definition covered (a : adjacency) (g : gate) (stddev diagonal units : Z) : Prop :=
  match g with
  | Squares Q => forall Person I (d : list I) (k : Person -> I -> Z),
      (forall p, sq d (k p) <= Q) ->
      covers a (upper_triangle diagonal stddev d) (fun p => outer (k p) (k p)) units
  | Semidefinite Q => forall Person C I (d : list I) (rows : Person -> list C)
      (z : Person -> C -> I -> Z),
      (forall p, sq (d ** d) (gram (rows p) (z p)) <= Q * Q) ->
      covers a (upper_triangle diagonal stddev d) (fun p => gram (rows p) (z p)) units
  | Products Q_u Q_h => forall Person I J (d : list I) (e : list J) (l : Person -> I -> Z)
      (k : Person -> J -> Z),
      (forall p i, 0 <= l p i) -> (forall p j, 0 <= k p j) ->
      (forall p, sq d (l p) <= Q_u) -> (forall p, sq e (k p) <= Q_h) ->
      covers a (everywhere stddev (d ** e)) (fun p => outer (l p) (k p)) units
  | Mean Q => forall Person I (d : list I) (l : Person -> I -> Z),
      (forall p i, 0 <= l p i) -> (forall p, sq d (l p) <= Q) ->
      covers a (everywhere stddev d) l units
  | Number M => forall Person (x : Person -> unit -> Z),
      (forall p i, 0 <= x p i <= M) -> covers a (everywhere stddev [tt]) x units
  | Classes constant Q => forall Person C I (eq : forall b c : C, {b = c} + {b <> c})
      (classes : list C) (d : list I) (label : Person -> option C) (k : Person -> I -> Z),
      NoDup classes -> (forall p, sq d (k p) <= Q) ->
      let z p := with_constant constant (k p) in let e := None :: map Some d in
      covers a (everywhere stddev (classes ** (e ** e)))
        (fun p => outer (at_label eq (label p)) (outer (z p) (z p))) units
  | OwnMeans T => forall Person (x y : Person -> Z),
      (forall p, 0 <= y p /\ x p * x p + y p * T <= T * T) ->
      covers a (everywhere stddev [true; false]) (fun p i => if i then x p else y p) units
  | Items Q_a Q_c numerator denominator => forall Person I (d : list I)
      (own : Person -> I -> bool) (k : Person -> Z) (l : Person -> I -> Z),
      let m p i := if own p i then k p else 0 in
      (forall p, sq d (m p) <= Q_a) -> (forall p, sq d (l p) <= Q_c) ->
      (forall p i, numerator * Z.abs (l p i) <= denominator * m p i) ->
      covers a (everywhere stddev ([true; false] ** d)) (fun p => beside (m p) (l p)) units
  | OneRatingItems R bits D L k => forall I (eq : forall i j : I, {i = j} + {i <> j})
      (d : list I), NoDup d ->
      let most := Z.min D 1000000 in
      let near p q := counted d R most p /\ counted d R most q /\ one_rating d p q in
      let add := share d (2 ^ bits) 10000 L k in
      forall v w, one_differs near v w ->
      (scaled (everywhere stddev ([true; false] ** d))
         (fun i => total add v i - total add w i)%Z <= mu2_of units)%R
  | SignedProducts Q_z Q_h => forall Person I J (d : list I) (e : list J) (l : Person -> I -> Z)
      (g : Person -> J -> Z),
      (forall p, sq d (l p) <= Q_z) -> (forall p, sq e (g p) <= Q_h) ->
      covers a (everywhere stddev (d ** e)) (fun p => outer (l p) (g p)) units
  end.

Lemma same_is_equal p q : same p q = true -> p = q.
Proof.
  destruct p, q; unfold same; cbn; rewrite !Bool.andb_true_iff, !Z.eqb_eq, !Bool.eqb_true_iff.
  intros [[[-> ->] ->] ->]; reflexivity.
Qed.

Lemma one_rating_is_covered {Person I} a (near : Person -> Person -> Prop) (d : list I) add
    R bits D stddev v w :
  a = OneRating -> 0 < stddev ->
  moves_at_most (one_differs near) d add (squared_sensitivity OneRating (one_rating_items R bits D)) ->
  one_differs near v w ->
  (scaled (everywhere stddev d) (fun i => total add v i - total add w i)%Z
    <= mu2_of (cost_of_part a (one_rating_items R bits D) stddev))%R.
Proof.
  intros -> pos price neighbours; rewrite scaled_everywhere.
  pose proof (charge_covers OneRating (one_rating_items R bits D) stddev _ pos
    (price v w neighbours)) as le.
  cbn [symmetric one_rating_items whole] in le; rewrite Rmult_1_l in le; exact le.
Qed.

Theorem right_line_is_covered a l g :
  gate_of l = Some g -> right_line a l = true ->
  covered a g (stddev l) (diagonal l) (units l).
Proof.
  unfold right_line; intros is right; rewrite is in right.
  rewrite !Bool.andb_true_iff, Z.ltb_lt, Z.eqb_eq in right.
  destruct right as [[[[fit shapes] pos] wide] <-]; apply same_is_equal in shapes.
  rewrite <- shapes in *; clear shapes.
  destruct g; cbn [covered part_of usable] in *; cbv zeta; intros;
    rewrite ?Bool.andb_true_iff, ?Z.ltb_lt, ?Z.leb_le in fit;
    lazymatch type of is with
    | _ = Some (OneRatingItems _ _ _ _ _) => idtac
    | _ => intros v w near
    end;
    lazymatch goal with
    | is : gate_of l = Some (OneRatingItems _ _ _ _ _) |- _ =>
        destruct fit as [[[[[[one R0] bits0] D0] L0] clip] mask];
        eapply one_rating_is_covered;
          [destruct a; now try discriminate one | exact pos | | eassumption];
        now apply one_rating_items_are_priced
    | |- context [upper_triangle] =>
        apply Z.leb_le in wide; eapply symmetric_part_is_covered; try eassumption; trivial
    | _ => eapply plain_part_is_covered; try eassumption; trivial
    end.
  - now apply second_moment_is_priced.
  - intros; apply Z.mul_comm.
  - now apply products_are_priced.
  - now apply mean_is_priced.
  - now apply objective_is_priced.
  - now apply classes_are_priced.
  - now apply own_means_are_priced.
  - now apply items_are_priced; destruct fit as [[_ ?] ?].
  - now apply profiles_are_priced.
  - intros; apply sum_ext; intro; apply Z.mul_comm.
  - now apply corrections_are_priced.
Qed.
