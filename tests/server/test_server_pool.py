"""The worker processes of the server: waiting, limits, deaths, clients that leave.  No test depends on time."""

import asyncio
import os
import signal
from collections import Counter

import pytest
from command import die_once
from serving import limited, nothing, prepare_at_most, rest, take, until

from nonproj.errors import ClusterError
from nonproj.server.admission import BusyError, GoneError, MemoryLimitError
from nonproj.server.memory import resident_bytes
from nonproj.server.pool import ATTEMPTS, WorkerPool


def with_pool(work, size: int = 1, waiting: int = 100, seconds: float = 600.0, prepare: tuple = (nothing,)):
    """Return the result of a coroutine called with a pool."""

    async def run():
        async with WorkerPool(size, waiting, seconds, prepare) as pool:
            return await asyncio.wait_for(work(pool), 300)

    return asyncio.run(run())


def test_waiting_kills_no_request_that_has_been_started():
    """Three times as many calls as can be answered in time: each is answered, or refused without being started."""

    async def work(pool):
        await pool.call(rest, 0.1)
        calls = [pool.call(rest, 0.1, str(number)) for number in range(60)]
        return await asyncio.gather(*calls, return_exceptions=True), dict(pool.workers.replaced)

    outcomes, replaced = with_pool(work, seconds=2.0)
    kinds = Counter(type(outcome).__name__ for outcome in outcomes)
    assert set(kinds) == {"CallResult", "BusyError"} and kinds["CallResult"] >= 3 and replaced == {}


def test_calls_are_answered_in_the_order_they_come():
    async def work(pool):
        order = []

        async def call(number: int) -> None:
            order.append((await pool.call(rest, 0.0, str(number))).value)

        await asyncio.gather(*(call(number) for number in range(20)))
        return order

    assert with_pool(work) == [str(number) for number in range(20)]


def test_the_number_of_waiting_calls_is_limited(tmp_path):
    async def work(pool):
        calls = [asyncio.ensure_future(pool.call(wait_for, str(tmp_path / "release"))) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="busy: 2 requests are waiting"):
            await pool.call(rest, 0.0)
        (tmp_path / "release").touch()
        return [outcome.value for outcome in await asyncio.gather(*calls)]

    assert with_pool(work, waiting=2) == ["released"] * 3


def test_a_call_is_repeated_once_if_its_worker_dies(tmp_path):
    """The death of an idle worker costs no answer."""

    async def work(pool):
        os.kill(pool.workers.pids[0], signal.SIGKILL)
        values = [(await pool.call(rest, 0.0)).value]  # perhaps before the death is known
        await until(lambda: pool.workers.idle == 1)
        os.kill(pool.workers.pids[0], signal.SIGKILL)
        await until(lambda: pool.workers.replaced["died"] == 2)  # without any call
        values.append((await pool.call(die_once, str(tmp_path / "marker"))).value)
        with pytest.raises(ClusterError, match="the worker process died"):
            await pool.call(os.abort)
        return [*values, (await pool.call(rest, 0.0)).value], pool.workers.replaced["died"]

    assert with_pool(work) == (["rested", "alive", "rested"], 3 + ATTEMPTS)


def test_a_call_whose_client_leaves_while_it_waits_is_never_started(tmp_path):
    async def work(pool):
        release = tmp_path / "release"
        first = asyncio.ensure_future(pool.call(wait_for, str(release)))
        left = asyncio.Event()
        second = asyncio.ensure_future(pool.call(rest, 0.0, "", str(tmp_path / "started"), gone=left.wait))
        third = asyncio.ensure_future(pool.call(rest, 0.0))
        await until(lambda: pool.waiting == 2)
        left.set()
        with pytest.raises(GoneError):
            await second
        assert pool.waiting == 1
        release.touch()
        await asyncio.gather(first, third)
        return (tmp_path / "started").exists(), dict(pool.workers.replaced)

    assert with_pool(work) == (False, {})


def wait_for(path: str) -> str:
    """Return when a file exists."""
    while not os.path.exists(path):
        rest(0.01)
    return "released"


def test_a_worker_whose_client_has_left_is_freed_unless_it_is_soon_done(tmp_path):
    async def leave(pool, *call):
        left = asyncio.Event()
        waiting = asyncio.ensure_future(pool.call(*call, gone=left.wait))
        await until(lambda: pool.workers.idle == 0)
        left.set()
        with pytest.raises(GoneError):
            await waiting

    async def work(pool):
        await pool.call(rest, 0.0)  # the worker is ready
        await leave(pool, rest, 1000.0)
        await pool.call(rest, 0.0)
        freed = dict(pool.workers.replaced)
        pool._admission.reload = 600.0  # starting another would take long
        await leave(pool, wait_for, str(tmp_path / "release"))
        (tmp_path / "release").touch()
        return freed, (await pool.call(rest, 0.0)).value, dict(pool.workers.replaced)

    assert with_pool(work) == ({"left": 1}, "rested", {"left": 1})


@pytest.mark.skipif(resident_bytes(os.getpid()) == 0, reason="the system does not tell what is resident")
def test_the_memory_of_a_worker_is_limited():
    async def work(pool):
        small = (await pool.call(take, 50)).value
        with pytest.raises(MemoryLimitError, match="exceeds the memory limit of a worker"):
            await pool.call(take, 2000)
        return small, (await pool.call(take, 50)).value, dict(pool.workers.replaced)

    assert with_pool(work, prepare=(limited, 600)) == (50 << 20, 50 << 20, {"memory": 1})
    with pytest.raises(Exception, match="1 MiB are too few: a worker with these models takes"):
        with_pool(work, prepare=(limited, 1))


def test_the_pool_fails_when_no_worker_can_be_started(tmp_path):
    """Waiting and later calls get an error."""
    (tmp_path / "starts").mkdir()

    async def work(pool):
        call = asyncio.ensure_future(pool.call(os.abort))
        waiting = asyncio.ensure_future(pool.call(rest, 0.0))
        errors = await asyncio.gather(call, waiting, return_exceptions=True)
        await until(pool.workers.failed.done)
        with pytest.raises(ClusterError, match="no worker process can be started"):
            await pool.call(rest, 0.0)
        return errors, str(pool.workers.failed.exception()), await pool.workers.check(rest, 0.0)

    errors, message, well = with_pool(work, prepare=(prepare_at_most, str(tmp_path / "starts"), 1))
    assert [type(error) for error in errors] == [ClusterError] * 2 and not well
    assert message.startswith("no worker process can be started: ") and message.endswith("cannot be loaded any more")


def test_a_check_asks_an_idle_worker(tmp_path):
    async def work(pool):
        before = await pool.workers.check(rest, 0.0)
        os.kill(pool.workers.pids[0], signal.SIGSTOP)
        os.kill(pool.workers.pids[0], signal.SIGKILL)
        during = await pool.workers.check(os.abort)
        call = asyncio.ensure_future(pool.call(wait_for, str(tmp_path / "release")))
        await until(lambda: pool.workers.ready == 1 and pool.workers.idle == 0)
        busy = await pool.workers.check(os.abort)  # which nobody is asked for
        (tmp_path / "release").touch()
        await call
        return before, during, busy

    assert with_pool(work) == (True, False, True)
