"""EASY in any order of the queue, with many options.

`options` has the families `easy` and `queue` and the published policies, `order_pass` the
scheduling pass for an order by name, and `scored_pass` what expressions and the age guard add.
"""

from bfenv.baselines.easy_orders.options import easy, queue

__all__ = ["easy", "queue"]
