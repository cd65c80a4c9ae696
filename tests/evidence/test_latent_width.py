"""How many latents a decoder takes is found where it fails on another number."""

import torch

from unbraid.evidence.jacobians.decoder import MOST_TRIED, accepted_width


def complaint(call, rows):
    try:
        call(rows)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("the decoder accepts these rows")


def found(call, width):
    rows = torch.zeros(3, width)
    return accepted_width(call, rows, complaint(call, rows))


def test_a_function_is_known_by_the_complaint_of_its_product():
    weights = torch.ones(5, 20)
    assert found(lambda z: torch.tanh(z @ weights), 7) == 5


def test_a_module_is_known_by_its_first_layer():
    class Picture(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = torch.nn.Linear(64, 9)
            self.layer = torch.nn.ConvTranspose2d(6, 2, 4)

        def forward(self, z):
            return self.layer(z[:, :, None, None])

    assert found(Picture(), 10) == 6


def test_a_number_that_is_guessed_but_not_accepted_is_not_suggested():
    assert accepted_width(lambda z: z.reshape(len(z), 2, 3), torch.zeros(3, 7), "(3x7 and 5x20)") is None
    assert accepted_width(lambda z: z.reshape(len(z), 2, 3), torch.zeros(3, 7), "(3x7 and 6x20)") == 6


def test_only_a_few_numbers_are_tried():
    tried = []

    def never(z):
        tried.append(z.shape[1])
        raise RuntimeError

    assert accepted_width(never, torch.zeros(3, 2), " ".join(f"(3x2 and {n}x4)" for n in range(1, 100))) is None
    assert tried == [n for n in range(1, 100) if n != 2][:MOST_TRIED]
