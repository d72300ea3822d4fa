(* Prints what the theorems rest on; check.sh compares it with what is allowed. *)
From dpnmf Require Import Sums Sensitivity Plan Charge Gaussian ProgramCheck ProgramValues EpsilonValues.

(* No axiom at all. *)
Definition integers :=
  (@T2_sums_fit, @T2_wrapped_sums, @T2_shifted,
   @T3_second_moment, @T4_products, @T4a_mean, @T4b_objective, @T4c_classes, @T11_own_means,
   @T12_items, @T12_one_rating, @T13_semidefinite, @T13_rows, @T13_damped_co_ratings, @damped_parts, @T14_corrections,
   @T3_attained, @T14_attained, @T12_attained,
   @second_moment_is_priced, @products_are_priced, @mean_is_priced, @classes_are_priced,
   @corrections_are_priced, @profiles_are_priced, @objective_is_priced, @own_means_are_priced,
   @items_are_priced, @one_rating_items_are_priced, @long_division_is_exact, @filter_holds, runs_are_right).
Print Assumptions integers.
(* The axioms of Coq's real numbers. *)
Definition reals := (@T5_round, @true_costs_stay_within_the_cap, @delta_is_bounded, @right_line_is_covered).
Print Assumptions reals.
(* The same, and the processor's 63-bit integers, with which Interval computes. *)
Print Assumptions epsilons.
