"""Which axes a graph is given any size for, by the calls that came before."""

from __future__ import annotations

from workbench.ort.ortmodule.capture.sizes import Fit, SeenSizes


def test_the_first_call_has_a_batch_of_any_size_and_nothing_more() -> None:
    shapes = ((6, 8), (6,), (1, 8), ())
    widest, static = SeenSizes(shapes).candidates(shapes)
    assert widest == (((0, "batch"),), ((0, "batch"),), (), ())
    assert static == ((), (), (), ())


def test_axes_that_were_always_equal_share_a_name() -> None:
    seen = SeenSizes(((4, 8, 3), (8, 8)))
    seen.add(((5, 6, 3), (6, 6)))
    widest, batch, _ = seen.candidates(((5, 6, 3), (6, 6)))
    assert widest[0][0] == (0, "batch")
    assert widest[0][1][0] == 1
    assert len(widest[0]) == 2
    assert {name for _, name in widest[1]} == {widest[0][1][1]}
    assert batch == (((0, "batch"),), ())


def test_equal_sizes_that_part_later_get_names_of_their_own() -> None:
    seen = SeenSizes(((4, 8), (4, 8)))
    seen.add(((4, 6), (4, 5)))
    one, other = (axes[1][1] for axes in seen.candidates(((4, 6), (4, 5)))[0])
    assert one != other


def test_one_element_is_not_any_number_of_them() -> None:
    seen = SeenSizes(((4, 8),))
    seen.add(((4, 1),))
    assert seen.candidates(((4, 1),))[0] == (((0, "batch"),),)
    fit = Fit(((4, 8),), (((0, "batch"), (1, "size_1")),))
    assert fit.takes(((1, 7),))
    assert not fit.takes(((4, 1),))


def test_a_graph_takes_one_size_for_one_name() -> None:
    fit = Fit(((4, 8), (8, 8)), (((0, "batch"), (1, "n")), ((0, "n"), (1, "n"))))
    assert fit.takes(((2, 5), (5, 5)))
    assert not fit.takes(((2, 5), (5, 6)))
    assert not Fit(((4, 8),), ((),)).takes(((5, 8),))
