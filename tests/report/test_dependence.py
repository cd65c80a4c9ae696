from dataclasses import replace

from unbraid import METRICS, Score
from unbraid._base.text import MISSING
from unbraid.evidence.dependence import FactorDependence, FactorPair, FactorTriple
from unbraid.interpret.dependence import MOVES_NOTHING, expected_move
from unbraid.report.scores import render_page
from unbraid.report.sections import MOST_TRIPLES, dependence_view

TIED = FactorPair(first="shape", second="size", strength=0.4321, p_value=0.005, depends=True)


def with_pair(report, pair):
    return replace(report, dependence=FactorDependence(pairs=(pair,), level=0.01, n_shuffles=199))


def test_names_what_to_distrust_and_what_to_read(make_report):
    scores = {"mig": Score(value=0.5), "r2": Score(value=0.5), "dependent.compactness": Score(value=0.25)}
    report = with_pair(make_report(scores), TIED)
    view, move = dependence_view(report), expected_move(METRICS["mig"], report.dependence)
    assert view.sentence.startswith("1 of 1 pair of factors depend on each other")
    assert [doubt.about for doubt in view.doubts] == [(f"{METRICS['mig'].title} (by about {move:+.2f})",)]
    assert ("Compactness, dependent factors", "dependent.compactness", "0.250") in view.better
    assert ("Sufficiency, dependent factors", "dependent.sufficiency", "") in view.better
    assert "dependent.modularity" not in [name for _, name, _ in view.better]  # nothing here asks about modularity
    assert view.hint
    assert [[cell.text for cell in row.cells] for row in view.grid.rows] == [[MISSING, "0.43"], ["0.43", MISSING]]


def test_weak_dependence_is_shown_without_doubts(make_report):
    view = dependence_view(with_pair(make_report({"mig": Score(value=0.5)}), replace(TIED, strength=0.012)))
    assert view.doubts == view.better == ()
    assert view.sentence.endswith(MOVES_NOTHING)


def test_three_factors_that_depend_together_are_named(make_report):
    triple = FactorTriple(names=("shape", "size", "x"), strength=0.9, p_value=0.005)
    found = FactorDependence(pairs=(replace(TIED, depends=False),), level=0.01, n_shuffles=199, triples=(triple,))
    view = dependence_view(replace(make_report({"mig": Score(value=0.5)}), dependence=found))
    assert "though no two of them do: shape, size and x (0.90)." in view.sentence
    many = replace(found, triples=(triple,) * (MOST_TRIPLES + 2))
    view = dependence_view(replace(make_report({"mig": Score(value=0.5)}), dependence=many))
    assert "shape, size and x (0.90); 2 more." in view.sentence


def test_independent_or_untested_factors_have_no_section(make_report):
    report = make_report({"mig": Score(value=0.5)})
    assert dependence_view(report) is None
    assert dependence_view(with_pair(report, replace(TIED, depends=False))) is None
    assert 'id="dependence"' not in render_page(report)


def test_page_has_the_section(make_report):
    page = render_page(with_pair(make_report({"mig": Score(value=0.5)}), TIED))
    assert '<section id="dependence">' in page
    assert 'href="#dependence"' in page
    assert "Scores that dependent factors mislead" in page
    assert "misleads 1 of the 1 score" in page
