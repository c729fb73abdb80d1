"""Who is asked about next, where nothing is suspected."""

from gradfuzz.findings.curiosity import Turns


def taken(questions):
    turns = Turns()
    for question in questions:
        turns.put(question, *question)
    return [turns.take() for _ in range(len(turns))]


def test_every_function_has_its_turn_before_any_has_another():
    forms = [("exp", 1, False) for _ in range(3)]
    last = ("logsigmoid", 1, False)
    assert taken([*forms, last]) == [forms[0], last, *forms[1:]]


def test_orders_have_turns_of_their_own():
    first, second, again = ("torch.exp", 1, False), ("torch.exp", 2, False), ("torch.exp", 1, False)
    assert taken([first, again, second]) == [first, second, again]


def test_a_seeds_own_numbers_wait_for_those_far_out():
    own, far, third = ("torch.exp", 1, True), ("torch.sin", 1, False), ("torch.sin", 1, False)
    assert taken([own, far, third]) == [far, third, own]


def test_tails_have_turns_of_their_own_before_those_of_other_numbers():
    huge, again, tail, other = ("exp", 1, False), ("exp", 1, False), ("exp", 1, False, True), ("sin", 1, False)
    assert taken([huge, again, tail, other]) == [tail, huge, other, again]


def test_what_has_the_same_turn_is_taken_in_its_order():
    questions = [(f"torch.f{k}", 1, False) for k in (3, 1, 2)]
    assert taken(questions) == questions
