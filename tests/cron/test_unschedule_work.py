"""unschedule_work where pg_cron lives; more of it beside schedule_work."""


def test_says_that_there_was_nothing_to_take_off(home):
    assert home.execute("select cortex.unschedule_work()").fetchone() == (False,)
