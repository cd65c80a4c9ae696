"""Tests behind each score outside the default panel and each function beside the panel.

For every one: a test of a truth on paper, a test of what leaves it unchanged and what does not, and a test that holds
it against a public implementation or the reason why there is none. Names are ``folder/file.py::test``.
"""

from typing import NamedTuple

#: Both ways for every row of the table of metrics.
EVERY_METRIC = "metrics/test_common.py::test_invariances_hold_as_declared_and_no_others"


class Proof(NamedTuple):
    """Tests of one score.

    Attributes:
        truth: Of a value known on paper.
        agrees: With a public implementation on the same input; empty where there is a reason.
        invariance: Of changes that leave the score as it is, and of others that do not.
        reason: Why it is not held against a public implementation.
    """

    truth: str
    agrees: str = ""
    invariance: str = EVERY_METRIC
    reason: str = ""


SPECTRUM, SPARSE, PAIRS = "metrics/test_spectrum.py", "metrics/test_sparse_probes.py", "metrics/test_flatness.py"
DISENT = f"{PAIRS}::test_they_equal_disent_on_whole_traversals"
RANKS = f"{SPECTRUM}::test_ranks_equal_those_of_other_packages"
ALIKE, POSTERIORS = "similarity/test_measures.py", "metrics/test_posteriors.py"
OTHERS = f"{ALIKE}::test_same_value"

PROOFS = {
    "rankme": Proof(f"{SPECTRUM}::test_unequal_directions_by_formula", RANKS),
    "effective_rank": Proof(f"{SPECTRUM}::test_unequal_directions_by_formula", RANKS),
    "stable_rank": Proof(f"{SPECTRUM}::test_unequal_directions_by_formula", RANKS),
    "participation_ratio": Proof(f"{SPECTRUM}::test_unequal_directions_by_formula", RANKS),
    "alpha_req": Proof(
        f"{SPECTRUM}::test_the_exponent_of_a_power_law_is_found",
        f"{SPECTRUM}::test_the_exponent_equals_that_of_another_package",
    ),
    "best_single": Proof(
        f"{SPARSE}::test_the_area_of_a_code_that_errs_in_a_share_of_the_rows",
        f"{SPARSE}::test_measures_equal_those_of_scikit_learn",
    ),
    "sparse_probe": Proof(
        f"{SPARSE}::test_codes_that_are_the_factors_score_one_in_every_measure",
        f"{SPARSE}::test_probes_fitted_at_once_equal_those_of_scikit_learn",
    ),
    "one_vs_rest": Proof(
        "metrics/test_one_vs_rest.py::test_a_code_for_each_value_scores_one",
        "metrics/test_one_vs_rest.py::test_values_equal_those_of_drvi",
    ),
    "med": Proof(
        "metrics/test_one_vs_rest.py::test_med_of_separate_doubled_and_shared_factors_on_a_grid",
        "metrics/test_one_vs_rest.py::test_med_equals_its_published_formula",
    ),
    "z_max_var": Proof(
        "metrics/test_matching.py::test_z_max_var_of_separate_factors_is_one_and_of_noise_nothing",
        "metrics/test_matching.py::test_z_max_var_agrees_with_the_published_algorithm",
    ),
    "omes": Proof(
        "metrics/test_omes.py::test_rotated_by_45_degrees",
        "metrics/test_omes.py::test_it_equals_the_published_code_on_all_pairs",
    ),
    "flatness": Proof(
        f"{PAIRS}::test_a_circle_is_its_diameter_over_its_chords",
        f"{PAIRS}::test_they_equal_disent_on_whole_traversals",
    ),
    "linearity": Proof(f"{PAIRS}::test_two_to_one_by_hand", f"{PAIRS}::test_they_equal_disent_on_whole_traversals"),
    "distances": Proof(f"{PAIRS}::test_one_norm_by_hand", f"{PAIRS}::test_random_codes_by_plain_loops"),
    "d_lsbd": Proof(
        "metrics/test_d_lsbd.py::test_a_ramp_has_the_first_coefficient_of_a_saw",
        "metrics/test_d_lsbd.py::test_it_equals_the_published_code_on_a_grid",
    ),
    "amari": Proof(
        "metrics/test_amari.py::test_codes_that_are_the_factors_have_distance_0_and_a_known_mixture_its_own",
        "metrics/test_amari.py::test_the_distance_of_squares_is_that_of_picard",
    ),
    "t_mex": Proof(
        "metrics/test_t_mex.py::test_counts_by_hand",
        reason="the tests of its authors are those of pycomets, whose licence is GPL; GCM is held to its definition",
    ),
    "unibound": Proof(
        "metrics/test_unibound.py::test_an_exclusive_or_is_synergy", reason="no public code of the paper was found"
    ),
    "blocks": Proof(
        "metrics/test_blocks.py::test_linear_shares_are_squared_correlations",
        "metrics/test_blocks.py::test_shares_are_those_of_scikit_learn_on_the_same_folds",
    ),
    "fairness": Proof(
        "metrics/test_fairness.py::test_parity_on_paper",
        "metrics/test_fairness.py::test_two_groups_and_classes_follow_from_the_differences_of_fairlearn",
    ),
    "similarity.cka": Proof(
        f"{ALIKE}::test_a_rotated_and_rescaled_copy_is_the_same",
        f"{ALIKE}::test_debiased_cka_equals_that_of_thingsvision",
        f"{ALIKE}::test_only_some_measures_ignore_a_stretch",
    ),
    "similarity.procrustes": Proof(
        f"{ALIKE}::test_procrustes_by_hand", OTHERS, f"{ALIKE}::test_only_some_measures_ignore_a_stretch"
    ),
    "similarity.cca": Proof(
        f"{ALIKE}::test_a_rotated_and_rescaled_copy_is_the_same",
        OTHERS,
        f"{ALIKE}::test_only_some_measures_ignore_a_stretch",
    ),
    "similarity.rsa": Proof(
        f"{ALIKE}::test_a_representation_is_exactly_itself",
        OTHERS,
        f"{ALIKE}::test_rsa_ignores_rotations_with_euclidean_distances_only",
    ),
    "similarity.dictionaries": Proof(
        f"{ALIKE}::test_a_representation_is_exactly_itself",
        f"{ALIKE}::test_matched_dictionaries_equal_correlations_assigned_by_scipy",
        f"{ALIKE}::test_dictionaries_ignore_order_sign_and_scale_and_see_a_rotation",
    ),
    "absorption": Proof(
        f"{SPARSE}::test_a_child_that_takes_all_its_rows_from_the_parent_absorbs_it",
        invariance=f"{SPARSE}::test_order_and_increasing_maps_of_codes_leave_absorption_and_mixing_does_not",
        reason="the formula from labels alone was proposed for SAELens, and no package has it",
    ),
    "rmig": Proof(
        f"{POSTERIORS}::test_well_separated_corners_are_a_bit_each",
        f"{POSTERIORS}::test_rmig_is_that_of_the_published_bins_within_their_width",
        f"{POSTERIORS}::test_order_and_scale_change_nothing_and_a_rotation_does",
    ),
    "sepin": Proof(
        f"{POSTERIORS}::test_well_separated_corners_are_a_bit_each",
        invariance=f"{POSTERIORS}::test_order_and_scale_change_nothing_and_a_rotation_does",
        reason="the published scripts need TensorFlow 1 and their own models; normal channels have a closed form, "
        "to which it is held",
    ),
    "controllability": Proof(
        "metrics/test_controllability.py::test_a_line_a_bowl_and_a_step",
        "metrics/test_controllability.py::test_random_curves_agree_with_latte",
        "metrics/test_controllability.py::test_unit_and_start_of_the_attribute_change_nothing_and_its_shape_does",
    ),
    "amari_distance": Proof(
        "metrics/test_amari.py::test_distances_on_paper",
        "metrics/test_amari.py::test_the_distance_of_squares_is_that_of_picard",
        "metrics/test_amari.py::test_order_and_scale_change_nothing_and_a_rotation_does",
    ),
    "unified_scores": Proof(
        "metrics/test_amari.py::test_aggregations_of_a_perfect_matrix",
        invariance="metrics/test_amari.py::test_published_scores_are_among_the_unified",
        reason="its cells are `mig`, `sap` and `dci_boosting`, each held to its own peer, and that they are is tested",
    ),
    "irs_of": Proof(
        "metrics/test_interventions.py::test_one_code_and_one_factor_are_an_entry_of_irs",
        "metrics/test_golden.py::test_irs_equals_its_peers",
        "metrics/test_common.py::test_invariances_hold_as_declared_and_no_others",
    ),
}
