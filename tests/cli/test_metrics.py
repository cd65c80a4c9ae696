import json

from small import run_cli
from unbraid import METRICS


def test_lists_every_metric_once(capsys):
    code, out, err = run_cli(capsys, "metrics")
    names = [line.split()[0] for line in out.splitlines()[1:] if line[:1].strip()]
    assert code == 0
    assert err == ""
    assert names == list(METRICS)


def test_json_has_a_record_for_every_metric(capsys):
    code, out, _ = run_cli(capsys, "metrics", "--json")
    records = json.loads(out)
    assert code == 0
    assert [record["metric"] for record in records] == list(METRICS)
    for record in records:
        assert set(record) == {"metric", "title", "measures", "needs", "direction", "cost", "question"}
        assert all(record.values())


def test_help_goes_to_standard_output_and_names_the_commands(capsys):
    code, out, err = run_cli(capsys, "--help")
    assert code == 0
    assert err == ""
    assert all(command in out for command in ("demo", "score", "metrics"))
