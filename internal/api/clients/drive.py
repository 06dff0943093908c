"""Does what each line of the input says with the Python of docs/CLIENTS.md: a verb, an order id and a SKU. All lines at once."""

import sys
import threading

import checkout


def work(verb: str, order_id: str, sku: str) -> None:
    verbs = {
        "reserve": lambda: checkout.reserve({"order_id": order_id, "lines": [{"sku": sku, "quantity": 1}]}),
        "paid": lambda: checkout.paid(order_id),
        "unpaid": lambda: checkout.unpaid(order_id),
    }
    sys.stdout.write(f"{verb} {order_id} {verbs[verb]()}\n")


for line in sys.stdin.read().splitlines():
    threading.Thread(target=work, args=line.split()).start()
