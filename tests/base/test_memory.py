"""Sizes of memory: read, written, counted as left, and refused beforehand."""

import os

import pytest

from unbraid._base.memory import (
    TooMuchMemoryError,
    available_bytes,
    check_memory,
    memory_limit,
    parse_memory,
    size_text,
)


@pytest.mark.parametrize("memory", ["much", "1.2.3G", 0, "-1G", "", "1e5", "9" * 400 + "G"])
def test_what_is_no_size_is_refused(memory):
    with pytest.raises(ValueError, match=r"memory must be a size such as '2GiB' or a number of bytes, got "):
        parse_memory(memory)


def test_a_size_that_is_proposed_can_be_given_and_is_enough():
    for needed in (10, 3 * 2**20, 5 * 2**30, 7 * 2**45):
        with pytest.raises(TooMuchMemoryError) as error:
            check_memory("work", needed, 1, cure="do less")
        proposed = str(error.value).rpartition("--memory ")[2].split()[0]
        check_memory("work", needed, proposed)
    assert str(error.value).startswith("work would take about 224.0 TiB of memory, more than the 0 MiB it may take; do")


def test_a_size_that_no_float_holds_is_refused_like_others():
    with pytest.raises(TooMuchMemoryError, match="raise the limit with --memory"):
        check_memory("reading", 10**400, None)


def test_work_that_fits_is_let_through():
    check_memory("work", 2**20, "1M")
    check_memory("work", 1, None)
    assert memory_limit("1k") == 1024
    assert size_text(memory_limit(None)).endswith("iB")


def test_what_is_left_is_the_least_of_machine_and_groups(tmp_path):
    meminfo, groups = tmp_path / "meminfo", tmp_path / "cgroup"

    def left():
        return available_bytes(meminfo, groups, tmp_path / "mounted")

    assert left() > 2**20  # from the system's count of pages
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:    2048 kB\n")
    assert left() == 2048 * 1024
    groups.write_text("4:memory:/outer/inner\n2:cpu:/other\n0::/whole\n")
    assert left() == 2048 * 1024
    two = tmp_path / "mounted" / "whole"
    two.mkdir(parents=True)
    (two / "memory.current").write_text("400\n")
    (two / "memory.max").write_text("max\n")
    assert left() == 2048 * 1024
    (two / "memory.max").write_text("1000\n")
    assert left() == 600
    (two / "memory.stat").write_text("anon 5\ninactive_file 100\n")
    assert left() == 700
    one = tmp_path / "mounted" / "memory" / "outer"
    one.mkdir(parents=True)
    (one / "memory.limit_in_bytes").write_text("500\n")
    (one / "memory.usage_in_bytes").write_text("300\n")
    assert left() == 200
    (one / "memory.usage_in_bytes").write_text("900\n")
    assert left() == 0


@pytest.mark.skipif(os.name != "posix", reason="limits of this kind")
def test_a_limit_on_the_address_space_counts(monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda what: (2**50, 2**50))
    usual = available_bytes()
    monkeypatch.setattr(resource, "getrlimit", lambda what: (1000, 1000))
    assert available_bytes() == 0 < usual
