"""Which job is next: what is urgent has a share, and what was put off has what is left of it."""

import pytest

from gradfuzz.pool.jobs import HURRIED_SHARE, PUT_OFF_EVERY, URGENT_SHARE, Jobs
from gradfuzz.pool.process import at_rest


def filled(workers=1, waiting=200, urgent=0, put_off=0):
    jobs = Jobs(workers)
    for number in range(waiting):
        jobs.add({"id": number, "urgent": False})
    for number in range(urgent):
        jobs.add({"id": 1000 + number, "urgent": True})
    for number in range(put_off):
        jobs.add({"id": 2000 + number, "urgent": True}, put_off=True)
    return jobs


def run(jobs, count, seconds=1.0):
    """One worker: each job takes so long."""
    done = []
    for _ in range(count):
        job = jobs.next(0)
        jobs.took(job, seconds)
        done.append(job)
    return done


def test_urgent_jobs_go_first_and_keep_to_their_share():
    done = run(filled(urgent=100), 100)
    assert done[0]["urgent"]
    assert abs(sum(job["urgent"] for job in done) - 100 * URGENT_SHARE) <= 1


def test_their_share_is_larger_where_more_waits_than_can_be_done_in_time():
    jobs = filled(urgent=100)
    jobs.hurried = True
    assert abs(sum(job["urgent"] for job in run(jobs, 100)) - 100 * HURRIED_SHARE) <= 1


def test_what_was_begun_is_finished_first_and_in_turn():
    jobs = filled(urgent=2)
    for number in (1, 2, 3):
        jobs.add({"id": number, "urgent": True}, ahead=True)
    assert [job["id"] for job in (jobs.next(0) for _ in range(4))] == [1, 2, 3, 1000]


def test_what_was_put_off_comes_when_nothing_urgent_waits_and_within_the_same_share():
    done = run(filled(urgent=3, put_off=100), 100)
    urgent = [job["id"] for job in done if job["urgent"]]
    assert urgent[:3] == [1000, 1001, 1002] and urgent[3:] == list(range(2000, 2000 + len(urgent) - 3))
    assert abs(len(urgent) - 100 * URGENT_SHARE) <= 1


def test_what_was_put_off_has_its_turn_where_something_urgent_always_waits():
    done = run(filled(waiting=0, urgent=100, put_off=100), 4 * PUT_OFF_EVERY)
    assert [job["id"] >= 2000 for job in done] == 4 * [*(PUT_OFF_EVERY - 1) * [False], True]


def test_where_nothing_else_waits_the_share_does_not_matter():
    assert [job["id"] for job in run(filled(waiting=0, urgent=2, put_off=2), 4)] == [1000, 1001, 2000, 2001]


def test_half_of_many_workers_are_left_to_the_others():
    jobs = filled(workers=4, urgent=9)
    assert [jobs.next(busy)["urgent"] for busy in (0, 1, 2)] == [True, True, False]


def test_a_job_that_was_put_off_can_be_taken_back_until_it_begins():
    jobs = filled(waiting=0, put_off=2)
    assert jobs.withdraw(2001) and not jobs.withdraw(2001) and not jobs.withdraw(7)
    assert jobs.next(0)["id"] == 2000 and not jobs


def test_jobs_that_have_not_begun_can_be_called_off_and_urgent_ones_stay():
    jobs = filled(waiting=3, urgent=1)
    begun = [jobs.next(0)["id"], jobs.next(1)["id"]]
    assert begun == [1000, 0]
    assert jobs.call_off({0, 1, 7, 1000}) == [1]
    assert jobs.next(1)["id"] == 2 and not jobs


def test_slow_is_not_hung_and_what_spins_on_a_busy_machine_is():
    alone, nobody = {"1": (5.0, 7.0)}, {}
    assert at_rest(30.0, alone, {"1": (5.2, 36.0)}) == pytest.approx(1.0)  # it waited for a processor
    assert at_rest(30.0, alone, alone) == 30.0  # it waits for something else
    assert at_rest(30.0, nobody, {"1": (12.0, 18.0), "2": (1.0, 29.5)}) == 12.0  # one of two threads that spin has run for so long
    assert at_rest(30.0, nobody, nobody) == 30.0  # where the system does not say
