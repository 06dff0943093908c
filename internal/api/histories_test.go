package api_test

import "testing"

// TestHistories plays what shops and sellers of tickets report as mistakes of their systems, each kind as one history with the right
// answers and figures, on both stores. It begins at 2026-11-27T09:00:00Z.
func TestHistories(t *testing.T) {
	t.Parallel()
	tellEach(t, map[string]string{
		// Orders that meet.

		"twenty buyers want the last five units at once, and five of them get one": `
			create lamp stock=5                     => 201
			20 x order lamp/o-# quantity=1          => 5 x 201 committed, 15 x 409 sold_out
			left lamp available=0 reserved=0 committed=5`,
		"the last units lie in five segments, and one order gets them all": `
			create lamp stock=5 segments=5          => 201
			order lamp/o quantity=6                 => 409 insufficient_stock available=5
			2 x order lamp/o-# quantity=5           => 201, 409 sold_out
			left lamp available=0 reserved=0 committed=5`,
		"a buyer presses the button ten times, and has one order": `
			create lamp stock=5                     => 201
			10 x order lamp/o quantity=2 buyer_id=ann => 1 x 201, 9 x 200 committed
			left lamp available=3 reserved=0 committed=2`,
		"the answer to an order is lost, and the same request again gets it, once": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			lost order lamp/o quantity=2
			order lamp/o quantity=2                 => 200|201 committed
			lost order b lamp:1 bulb:2
			order b lamp:1 bulb:2                   => 200|201
			left lamp available=2 reserved=0 committed=3
			left bulb available=3 reserved=0 committed=2`,
		"the answers to a commit, a return and a delivery are lost, and each happens once": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201 reserved
			lost commit lamp/o
			commit lamp/o                           => 200 committed
			lost return lamp/o quantity=1 ref=parcel
			return lamp/o quantity=1 ref=parcel     => 200 committed quantity=2
			lost restock lamp quantity=4 ref=van
			restock lamp quantity=4 ref=van         => 200|201
			left lamp available=7 reserved=0 committed=2`,
		"a retry changes what it orders, and the first order stands": `
			create lamp stock=9                     => 201
			order lamp/o quantity=2 buyer_id=ann reserve_for=10m => 201
			order lamp/o quantity=3 buyer_id=ann reserve_for=10m => 422 order_id_reused
			order lamp/o quantity=2 buyer_id=bob reserve_for=10m => 422 order_id_reused
			order lamp/o quantity=2 buyer_id=ann reserve_for=20m => 422 order_id_reused
			order lamp/o quantity=2 buyer_id=ann    => 422 order_id_reused
			order lamp/o quantity=2 buyer_id=ann reserve_for=10m => 200 reserved
			left lamp available=7 reserved=2 committed=0`,
		"a refused order is not remembered, and gets its units after a delivery": `
			create lamp stock=1                     => 201
			order lamp/o quantity=2                 => 409 insufficient_stock available=1
			order lamp/p quantity=1                 => 201
			order lamp/o quantity=2                 => 409 sold_out
			restock lamp quantity=2 ref=van         => 201
			order lamp/o quantity=2                 => 201
			left lamp available=0 reserved=0 committed=3`,
		"one of many orders in a request is wrong, and the others are decided all the same": `
			create lamp stock=3                     => 201
			many lamp/o:2 lamp/p:0 none/q:1 lamp/r:2 lamp/s:1 lamp/o:2 => 200 status=201 status=400 status=404 status=409 status=200
			left lamp available=0 reserved=0 committed=3`,

		// Paying.

		"the payment fails late, after the order was paid, and it stays paid": `
			create lamp stock=5                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201 reserved
			commit lamp/o                           => 200 committed
			cancel lamp/o                           => 409 already_committed quantity=2
			cancel lamp/o quantity=1 ref=part       => 409 already_committed quantity=2
			show lamp/o                             => 200 committed quantity=2
			left lamp available=3 reserved=0 committed=2`,
		"paid and failed arrive at once, and one of them is true": `
			create lamp stock=9                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			& commit lamp/o
			& cancel lamp/o                         => 200 committed|cancelled, 409
			order lamp/p quantity=2 reserve_for=10m => 201
			& 5 x commit lamp/p
			& 5 x extend lamp/p reserve_for=20m ref=r-# => 5 x 200 committed, 5 x 200|409
			2 x return lamp/p                       => 2 x 200 returned
			cancel lamp/o                           => 200|409 cancelled|already_committed
			return lamp/o                           => 200|409 returned|not_committed
			left lamp available=9 reserved=0 committed=0`,
		"the payment's notice comes ten times, and the order is paid once": `
			create lamp stock=5                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			10 x commit lamp/o                      => 10 x 200 committed quantity=2
			pass 24h
			10 x commit lamp/o if_expired=retake    => 10 x 200 committed quantity=2
			left lamp available=3 reserved=0 committed=2`,
		"the payment's notice comes again after the money was given back, and says so for one SKU and for several": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			commit lamp/o quantity=1                => 200 committed
			return lamp/o                           => 200 returned
			2 x commit lamp/o if_expired=retake     => 2 x 409 already_committed order_status=returned quantity=1 final=true
			commit lamp/o                           => 409 already_committed order_status=returned quantity=1
			cancel lamp/o                           => 409 already_committed order_status=returned
			order w lamp:1 bulb:2 reserve_for=10m   => 201
			commit w                                => 200 committed
			return w                                => 200 returned
			2 x commit w if_expired=retake          => 2 x 409 already_committed order_status=returned final=true
			commit w                                => 409 already_committed order_status=returned
			cancel w                                => 409 already_committed order_status=returned
			order w lamp:1 bulb:2 reserve_for=10m   => 409 order_ended order_status=returned
			left lamp available=5 reserved=0 committed=0`,
		"the order is paid in part, and the notice is for all": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			commit lamp/o quantity=2                => 200 committed quantity=2
			commit lamp/o quantity=2                => 200 committed quantity=2
			commit lamp/o quantity=3                => 409 already_committed quantity=2
			left lamp available=3 reserved=0 committed=2`,
		"the order is paid after its end, and the units are still there": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			pass 10m
			commit lamp/o                           => 409 not_reserved order_status=expired
			10 x commit lamp/o if_expired=retake    => 10 x 200 committed quantity=3
			order lamp/o quantity=3 reserve_for=10m => 200 committed
			left lamp available=2 reserved=0 committed=3`,
		"the order is paid after its end, and the units are another's": `
			create lamp stock=3                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			pass 10m
			order lamp/p quantity=1                 => 201
			2 x commit lamp/o if_expired=retake     => 2 x 409 not_reserved
			show lamp/o                             => 200 expired
			left lamp available=2 reserved=0 committed=1`,
		"two late payments want the last unit, and one of them has it": `
			create lamp stock=1                     => 201
			order lamp/o-1 quantity=1 reserve_for=10m => 201
			pass 10m
			order lamp/o-2 quantity=1 reserve_for=10m => 201
			pass 10m
			2 x commit lamp/o-# if_expired=retake   => 200 committed, 409 not_reserved
			left lamp available=0 reserved=0 committed=1`,
		"what the buyer gave up is not taken again for a late payment": `
			create lamp stock=3                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			cancel lamp/o                           => 200 cancelled
			commit lamp/o if_expired=retake         => 409 not_reserved order_status=cancelled
			left lamp available=3 reserved=0 committed=0`,
		"the first card fails, the second one pays, and the units are taken again, once": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			cancel lamp/o                           => 200 cancelled
			commit lamp/o                           => 409 not_reserved order_status=cancelled
			commit lamp/o if_ended=retake quantity=4 => 400 invalid_request field=quantity
			10 x commit lamp/o if_ended=retake      => 10 x 200 committed quantity=3
			cancel lamp/o                           => 409 already_committed quantity=3
			order lamp/o quantity=3 reserve_for=10m => 200 committed
			history lamp/o                          => 200 reserved cancelled retaken !committed
			left lamp available=2 reserved=0 committed=3
			return lamp/o                           => 200 returned
			commit lamp/o if_ended=retake           => 409 already_committed order_status=returned
			left lamp available=5 reserved=0 committed=0`,
		"a reservation is given up in parts, is paid after all, and each unit is accounted for": `
			create lamp stock=5                     => 201
			order lamp/o quantity=5 reserve_for=10m => 201
			cancel lamp/o quantity=2 ref=a          => 200 reserved quantity=3
			cancel lamp/o quantity=3 ref=b          => 200 cancelled
			commit lamp/o if_ended=retake quantity=2 => 200 committed quantity=2
			cancel lamp/o quantity=3 ref=b          => 200 committed quantity=2
			return lamp/o quantity=1 ref=c          => 200 committed quantity=1
			left lamp available=4 reserved=0 committed=1`,
		"the order was given up, is paid, and its units are another's": `
			create lamp stock=3 per_buyer_limit=3   => 201
			order lamp/o quantity=3 buyer_id=ann reserve_for=10m => 201
			cancel lamp/o                           => 200 cancelled
			order lamp/p quantity=1 buyer_id=bob    => 201
			2 x commit lamp/o if_ended=retake       => 2 x 409 not_reserved order_status=cancelled
			return lamp/p                           => 200
			order lamp/q quantity=1 buyer_id=ann    => 201
			return lamp/q restock=false             => 200
			restock lamp quantity=1 ref=van         => 201
			commit lamp/o if_ended=retake           => 200 committed
			left lamp available=0 reserved=0 committed=3`,
		"a word says what to do with what has ended, and it is one word": `
			create lamp stock=3                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			commit lamp/o if_ended=take             => 400 invalid_request field=if_ended
			commit lamp/o if_expired=take           => 400 invalid_request field=if_expired
			pass 10m
			commit lamp/o if_ended=retake quantity=2 => 200 committed quantity=2
			history lamp/o                          => 200 expired quantity=3 retaken quantity=2
			left lamp available=1 reserved=0 committed=2`,
		"the payment arrives in the last microsecond, beside the end of all others": `
			create lamp stock=8                     => 201
			4 x order lamp/o-# quantity=1 reserve_for=10m => 4 x 201
			4 x order lamp/p-# quantity=1 reserve_for=9m59s => 4 x 201
			pass 9m59.999999s
			& 4 x commit lamp/o-#
			& 4 x commit lamp/p-#                   => 4 x 200 committed, 4 x 409 not_reserved
			left lamp available=4 reserved=0 committed=4`,
		"an ended order is sent again, and nobody is told that it holds units": `
			create lamp stock=9                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			order lamp/p quantity=2 reserve_for=10m => 201
			order lamp/q quantity=2                 => 201
			cancel lamp/o                           => 200 cancelled
			pass 10m
			return lamp/q                           => 200 returned
			order lamp/o quantity=2 reserve_for=10m => 409 order_ended order_status=cancelled quantity=2
			order lamp/p quantity=2 reserve_for=10m => 409 order_ended order_status=expired quantity=2
			order lamp/q quantity=2                 => 409 order_ended order_status=returned quantity=2
			many lamp/q:2                           => 200 status=409 order_ended
			left lamp available=9 reserved=0 committed=0`,

		// Reservations.

		"nobody pays, and the next buyer gets the units at once": `
			create lamp stock=2                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			order lamp/p quantity=1                 => 409 sold_out
			pass 10m
			order lamp/p quantity=2                 => 201
			left lamp available=0 reserved=0 committed=2`,
		"a reservation is extended, once for its ref, never to an earlier end and never after it": `
			create lamp stock=5 max_reserve_for=30m => 201
			order lamp/o quantity=1 reserve_for=10m => 201 expires_at=2026-11-27T09:10:00Z
			extend lamp/o reserve_for=20m ref=a     => 200 expires_at=2026-11-27T09:20:00Z
			extend lamp/o reserve_for=5m ref=b      => 200 expires_at=2026-11-27T09:20:00Z
			extend lamp/o reserve_for=31m ref=c     => 400 invalid_request field=reserve_for
			pass 5m
			extend lamp/o reserve_for=20m ref=a     => 200 expires_at=2026-11-27T09:20:00Z
			extend lamp/o reserve_for=30m ref=a     => 422 ref_reused
			pass 15m
			extend lamp/o reserve_for=20m ref=d     => 409 not_reserved
			left lamp available=5 reserved=0 committed=0`,
		"a reservation lasts as long as its SKU allows, however often it is asked for": `
			create lamp stock=5 max_reserve_for=30m => 201
			order lamp/o quantity=1 reserve_for=0   => 400 invalid_request field=reserve_for
			order lamp/o quantity=1 reserve_for=-5m => 400 invalid_request field=reserve_for
			order lamp/o quantity=1 reserve_for=0.5 => 400 invalid_request field=reserve_for
			order lamp/o quantity=1 reserve_for=31m => 400 invalid_request field=reserve_for
			order lamp/o quantity=1 reserve_for=PT30M => 201 expires_at=2026-11-27T09:30:00Z
			order lamp/p quantity=1 reserve_for=1800  => 201 expires_at=2026-11-27T09:30:00Z
			left lamp available=3 reserved=2 committed=0`,
		"a buyer gives up a part of a reservation twice by mistake, and loses it once": `
			create lamp stock=5                     => 201
			order lamp/o quantity=4 reserve_for=10m => 201
			5 x cancel lamp/o quantity=1 ref=less   => 5 x 200 reserved quantity=3
			cancel lamp/o quantity=2 ref=less       => 422 ref_reused
			cancel lamp/o quantity=4 ref=more       => 400 invalid_request
			commit lamp/o                           => 200 committed quantity=3
			left lamp available=2 reserved=0 committed=3`,

		// Goods that come back.

		"a part of the money is given back twice under one ref, and a unit comes back once": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3                 => 201
			10 x return lamp/o quantity=1 ref=parcel => 10 x 200 committed quantity=2
			return lamp/o quantity=2 ref=parcel     => 422 ref_reused
			return lamp/o quantity=1 ref=parcel restock=false => 422 ref_reused
			left lamp available=3 reserved=0 committed=2`,
		"more comes back than was bought, and is refused": `
			create lamp stock=5                     => 201
			order lamp/o quantity=2                 => 201
			return lamp/o quantity=3 ref=a          => 400 invalid_request field=quantity
			return lamp/o quantity=1 ref=b          => 200 committed quantity=1
			return lamp/o quantity=2 ref=c          => 400 invalid_request field=quantity
			4 x return lamp/o quantity=1 ref=d-#    => 1 x 200 returned quantity=1, 3 x 409 not_committed order_status=returned
			5 x return lamp/o                       => 5 x 200 returned
			left lamp available=5 reserved=0 committed=0`,
		"damaged goods come back, and are not sold again": `
			create lamp stock=3 per_buyer_limit=3   => 201
			order lamp/o quantity=3 buyer_id=ann    => 201
			5 x return lamp/o quantity=2 ref=wet restock=false reason=damaged => 5 x 200 committed quantity=1
			order lamp/p quantity=1 buyer_id=ann    => 409 sold_out
			audit lamp                              => 200 written_off=2
			movements lamp                          => 200 write_off order_id=o quantity=-2 reason=damaged
			return lamp/o                           => 200 returned
			order lamp/p quantity=1 buyer_id=ann    => 201
			left lamp available=0 reserved=0 committed=1`,
		"goods come back that were never paid, and nothing is given back": `
			create lamp stock=5                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201
			return lamp/o                           => 409 not_committed order_status=reserved
			return lamp/o quantity=1 ref=a          => 409 not_committed order_status=reserved
			return lamp/none                        => 404 unknown_deduction
			pass 10m
			return lamp/o                           => 409 not_committed order_status=expired
			left lamp available=5 reserved=0 committed=0`,
		"a report counts what is sold after parts were paid, returned and written off": `
			create lamp stock=20                    => 201
			order lamp/o quantity=6 reserve_for=10m => 201
			commit lamp/o quantity=5                => 200
			return lamp/o quantity=1 ref=good       => 200 quantity=4
			return lamp/o quantity=1 ref=bad restock=false => 200 quantity=3
			order lamp/p quantity=4                 => 201
			return lamp/p                           => 200
			order lamp/q quantity=2 reserve_for=10m => 201
			history lamp/o                          => 200 reserved committed returned written_off ref=good ref=bad quantity=6 quantity=5
			audit lamp                              => 200 written_off=1 committed=3 ok=true
			left lamp available=14 reserved=2 committed=3`,

		// Baskets.

		"twenty baskets share what is scarce, and none of them gets a half": `
			create lamp stock=50                    => 201
			create bulb stock=5                     => 201
			20 x order o-# lamp:1 bulb:1            => 5 x 201, 15 x 409 sold_out sku=bulb
			left lamp available=45 reserved=0 committed=5
			left bulb available=0 reserved=0 committed=5`,
		"baskets name their SKUs in opposite orders, and all of them are served": `
			create lamp stock=50                    => 201
			create bulb stock=50                    => 201
			& 10 x order o-# lamp:1 bulb:2
			& 10 x order p-# bulb:1 lamp:2          => 20 x 201
			left lamp available=20 reserved=0 committed=30
			left bulb available=20 reserved=0 committed=30`,
		"one SKU of a basket is missing, and nothing of it is taken": `
			create lamp stock=5                     => 201
			create bulb stock=1                     => 201
			order o lamp:2 bulb:2 reserve_for=10m   => 409 insufficient_stock sku=bulb available=1
			order o lamp:2 none:1 reserve_for=10m   => 404 unknown_sku
			show o                                  => 404 unknown_order
			left lamp available=5 reserved=0 committed=0
			left bulb available=1 reserved=0 committed=0`,
		"a basket names a SKU twice, and is refused": `
			create lamp stock=5                     => 201
			order o lamp:1 lamp:2                   => 400 invalid_request
			left lamp available=5 reserved=0 committed=0`,
		"nobody pays or gives up a half of a basket": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:2 reserve_for=10m   => 201
			commit lamp/o                           => 409 part_of_order order=/v1/orders/o
			cancel bulb/o                           => 409 part_of_order
			cancel bulb/o quantity=1 ref=a          => 409 part_of_order
			extend lamp/o reserve_for=20m ref=a     => 409 part_of_order
			commit o                                => 200 committed !reserved
			left lamp available=4 reserved=0 committed=1
			left bulb available=3 reserved=0 committed=2`,
		"a basket is paid and given up at once, and is one of the two as a whole": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:2 reserve_for=10m   => 201
			& commit o
			& cancel o                              => 200 !reserved, 409 already_committed|not_reserved
			cancel o                                => 200|409 cancelled|already_committed
			5 x return o                            => 5 x 200|409 returned|not_committed
			left lamp available=5 reserved=0 committed=0
			left bulb available=5 reserved=0 committed=0`,
		"a basket is paid too late, one of its SKUs is another's, and nothing is taken again": `
			create lamp stock=5                     => 201
			create bulb stock=2                     => 201
			order o lamp:1 bulb:2 reserve_for=10m   => 201
			pass 10m
			order bulb/p quantity=1 reserve_for=10m => 201
			commit o if_expired=retake              => 409 not_reserved
			left lamp available=5 reserved=0 committed=0
			cancel bulb/p                           => 200
			5 x commit o if_expired=retake          => 5 x 200 committed !expired
			left lamp available=4 reserved=0 committed=1
			left bulb available=0 reserved=0 committed=2`,
		"a basket comes back twice, and the second time it is said to be damaged": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:2                   => 201
			order p lamp:1 bulb:2                   => 201
			return o                                => 200 returned
			return o                                => 200 returned
			return o restock=false                  => 422 ref_reused
			return lamp/p                           => 200 returned
			return p restock=false reason=damaged   => 200 returned
			return p restock=false reason=damaged   => 200 returned
			return p restock=false reason=lost      => 422 ref_reused
			left lamp available=5 reserved=0 committed=0
			left bulb available=3 reserved=0 committed=0`,
		"a basket is given up, is paid all the same, and is taken again as a whole": `
			create lamp stock=5                     => 201
			create bulb stock=2                     => 201
			order o lamp:1 bulb:2 reserve_for=10m   => 201
			cancel o                                => 200 cancelled !reserved
			order bulb/p quantity=1 reserve_for=10m => 201
			commit o if_ended=retake                => 409 not_reserved
			left lamp available=5 reserved=0 committed=0
			cancel bulb/p                           => 200
			commit o if_expired=retake              => 409 not_reserved
			& 5 x commit o if_ended=retake
			& 5 x cancel o                          => 5 x 200 committed !cancelled, 5 x 200|409
			left lamp available=4 reserved=0 committed=1
			left bulb available=0 reserved=0 committed=2
			return o                                => 200 returned
			commit o if_ended=retake                => 409 already_committed
			left lamp available=5 reserved=0 committed=0`,
		"one thing of a paid basket comes back, and the rest stays paid": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:2                   => 201
			return bulb/o quantity=1 ref=a restock=false => 200 committed quantity=1
			show o                                  => 200 committed
			return lamp/o                           => 200 returned
			order o lamp:1 bulb:2                   => 200 returned committed
			return o                                => 200 returned !committed
			order o lamp:1 bulb:2                   => 409 order_ended
			left lamp available=5 reserved=0 committed=0
			left bulb available=4 reserved=0 committed=0`,

		// Stock by hand.

		"a count by hand takes away what is promised to buyers, and is refused": `
			create lamp stock=5                     => 201
			order lamp/o quantity=3 reserve_for=10m => 201
			order lamp/p quantity=1                 => 201
			adjust lamp quantity=-2 ref=a           => 409 insufficient_stock available=1
			adjust lamp quantity=-1 ref=b           => 201
			adjust lamp quantity=-1 ref=c           => 409 insufficient_stock|sold_out
			left lamp available=0 reserved=3 committed=1`,
		"two clerks set the same count, and one of them is told that it has changed": `
			create lamp stock=100                   => 201
			2 x adjust lamp quantity=20 ref=clerk-# if_stock=100 => 201, 409 stock_changed stock=120
			order lamp/o quantity=5                 => 201
			adjust lamp quantity=-20 ref=back if_stock=120 => 201
			left lamp available=95 reserved=0 committed=5`,
		"a delivery is imported twice, and is booked once": `
			create lamp stock=5 segments=2          => 201
			create lamp stock=5 segments=2          => 200
			create lamp stock=6 segments=2          => 409 sku_exists
			10 x restock lamp quantity=7 ref=van-1  => 1 x 201, 9 x 200
			restock lamp quantity=8 ref=van-1       => 422 ref_reused
			restock lamp quantity=1 ref=van-2       => 201
			left lamp available=13 reserved=0 committed=0`,
		"units move to other segments during a sale, and none is lost": `
			create lamp stock=30 segments=3         => 201
			& 10 x order lamp/o-# quantity=1
			& 4 x resegment lamp segments=8 ref=r-#
			& 10 x order lamp/p-# quantity=1 reserve_for=10m => 10 x 201 committed, 10 x 201 reserved, 4 x 201
			resegment lamp segments=1 ref=last      => 201
			4 x cancel lamp/p-#                     => 4 x 200
			left lamp available=14 reserved=6 committed=10`,
		"a SKU is taken out of the shop, sells nothing more, and who has reserved may pay": `
			create lamp stock=5                     => 201
			order lamp/o quantity=1 reserve_for=10m => 201
			order lamp/p quantity=1 reserve_for=10m => 201
			archive lamp                            => 200
			order lamp/q quantity=1                 => 410 sku_archived
			restock lamp quantity=1 ref=a           => 410 sku_archived
			create lamp stock=5                     => 409 sku_exists
			commit lamp/o                           => 200 committed
			pass 10m
			commit lamp/p                           => 409 not_reserved
			order lamp/o quantity=1 reserve_for=10m => 200 committed
			left lamp available=4 reserved=0 committed=1`,
		"an order id whose order was pruned sells nothing again": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order lamp/o quantity=2                 => 201
			order b lamp:1 bulb:1                   => 201
			archive lamp                            => 200
			pass 24h
			prune lamp
			order lamp/o quantity=2                 => 410 sku_archived
			return lamp/o                           => 404 unknown_deduction
			archive bulb                            => 200
			pass 24h
			prune bulb
			prune lamp
			order b lamp:1 bulb:1                   => 410 sku_archived
			left lamp available=2 reserved=0 committed=3
			left bulb available=4 reserved=0 committed=1`,

		// Terms.

		"the sale begins and ends at an instant": `
			create lamp stock=5 sale_starts_at=2026-11-27T10:00:00Z sale_ends_at=2026-11-27T11:00:00Z => 201
			pass 59m59.999999s
			order lamp/o-1 quantity=1               => 409 sale_closed
			pass 1us
			order lamp/o-2 quantity=1               => 201
			pass 59m59.999999s
			order lamp/o-3 quantity=1 reserve_for=10m => 201
			pass 1us
			order lamp/o-4 quantity=1               => 409 sale_closed
			order lamp/o-2 quantity=1               => 200
			commit lamp/o-3                         => 200
			left lamp available=3 reserved=0 committed=2`,
		"a sale begins at one instant in every time zone": `
			create east stock=5 sale_starts_at=2026-11-27T19:00:00+09:00 => 201 sale_starts_at=2026-11-27T10:00:00Z
			create west stock=5 sale_starts_at=2026-11-27T02:00:00-08:00 => 201 sale_starts_at=2026-11-27T10:00:00Z
			create none stock=5 sale_starts_at=2026-11-27T10:00:00       => 400 invalid_request field=sale_starts_at
			create east stock=5 sale_starts_at=2026-11-27T10:00:00Z      => 200
			& order east/o quantity=1
			& order west/o quantity=1               => 2 x 409 sale_closed
			pass 1h
			& order east/o quantity=1
			& order west/o quantity=1               => 2 x 201
			left east available=4 reserved=0 committed=1
			left west available=4 reserved=0 committed=1`,
		"a buyer spreads its wish over many orders, and the limit holds": `
			create lamp stock=50 per_buyer_limit=3  => 201
			create bulb stock=50                    => 201
			order lamp/o quantity=1                 => 400 invalid_request field=buyer_id
			& 10 x order lamp/o-# quantity=1 buyer_id=ann
			& 10 x order b-# lamp:1 bulb:1 buyer_id=ann => 3 x 201, 17 x 409 buyer_limit
			order lamp/p quantity=4 buyer_id=bob    => 409 buyer_limit
			order lamp/p quantity=3 buyer_id=bob    => 201
			order lamp/p quantity=3 buyer_id=bob    => 200
			left lamp available=44 reserved=0 committed=6`,
		"a buyer gives units back, and may buy as many again": `
			create lamp stock=50 per_buyer_limit=2  => 201
			order lamp/a quantity=2 buyer_id=ann reserve_for=10m => 201
			cancel lamp/a quantity=1 ref=r          => 200
			order lamp/b quantity=1 buyer_id=ann    => 201
			order lamp/c quantity=1 buyer_id=ann    => 409 buyer_limit
			pass 10m
			order lamp/c quantity=1 buyer_id=ann    => 201
			return lamp/b restock=false             => 200
			return lamp/c                           => 200
			order lamp/d quantity=2 buyer_id=ann    => 201
			commit lamp/a if_expired=retake         => 409
			left lamp available=47 reserved=0 committed=2`,
		"terms change, and what was accepted before stays as it was": `
			create lamp stock=50                    => 201
			order lamp/o quantity=5 buyer_id=ann    => 201
			order lamp/p quantity=2 buyer_id=bob reserve_for=10m => 201
			change lamp ref=t per_buyer_limit=2 max_quantity=2 max_reserve_for=1m sale_ends_at=2026-11-27T09:30:00Z => 201
			2 x order lamp/o quantity=5 buyer_id=ann => 2 x 200 committed
			order lamp/q quantity=3 buyer_id=eve    => 400 invalid_request field=quantity
			order lamp/q quantity=1 buyer_id=ann    => 409 buyer_limit
			return lamp/o quantity=4 ref=r          => 200 quantity=1
			order lamp/q quantity=1 buyer_id=ann    => 201
			pass 9m59s
			commit lamp/p                           => 200 committed quantity=2
			left lamp available=46 reserved=0 committed=4`,
		"an order of the sale is paid when the sale is over": `
			create lamp stock=5 per_buyer_limit=2 sale_ends_at=2026-11-27T09:05:00Z => 201
			order lamp/o quantity=2 buyer_id=ann reserve_for=10m => 201
			order lamp/p quantity=2 buyer_id=bob reserve_for=10m => 201
			pass 6m
			commit lamp/o                           => 200 committed
			pass 6m
			commit lamp/p if_expired=retake         => 200 committed
			return lamp/o                           => 200 returned
			order lamp/q quantity=1 buyer_id=eve    => 409 sale_closed
			left lamp available=3 reserved=0 committed=2`,

		// Values.

		"quantities that are none are refused, and change nothing": `
			create lamp stock=5                     => 201
			order lamp/o quantity=0                 => 400 invalid_request field=quantity
			order lamp/o quantity=-1                => 400 invalid_request field=quantity
			order lamp/o quantity=1.5               => 400 invalid_request field=quantity
			order lamp/o quantity="1"               => 400 invalid_request field=quantity
			order lamp/o quantity=1e3               => 400 invalid_request field=quantity
			order lamp/o quantity=9223372036854775808 => 400 invalid_request field=quantity
			order lamp/o quantity=1000001           => 400 invalid_request field=quantity
			order lamp/o quantity=null              => 400 invalid_request field=quantity
			order lamp/o                            => 400 invalid_request field=quantity
			order o lamp:-1                         => 400 invalid_request
			restock lamp quantity=0 ref=r           => 400 invalid_request field=quantity
			restock lamp quantity=-3 ref=r          => 400 invalid_request field=quantity
			adjust lamp quantity=0 ref=r            => 400 invalid_request field=quantity
			create bulb stock=-1                    => 400 invalid_request field=stock
			order lamp/o quantity=1                 => 201
			return lamp/o quantity=-1 ref=r         => 400 invalid_request field=quantity
			left lamp available=4 reserved=0 committed=1`,
		"names that look alike are different, and those that hide something are refused": `
			create lamp stock=5 per_buyer_limit=1   => 201
			create Lamp stock=5                     => 201
			create lämp stock=5                     => 400 invalid_request field=sku
			order LAMP/o quantity=1                 => 404 unknown_sku
			order lamp/o quantity=1 buyer_id="Jos\u00e9"  => 201
			order lamp/o quantity=1 buyer_id="Jose\u0301" => 422 order_id_reused
			order lamp/O quantity=1 buyer_id="Jose\u0301" => 201
			order lamp/p quantity=1 buyer_id="Jos\u00e9"  => 409 buyer_limit
			order lamp/p quantity=1 buyer_id="an\u200bn"  => 400 invalid_request field=buyer_id
			order lamp/.. quantity=1 buyer_id=ann   => 400 invalid_request field=order_id
			show lamp/o                             => 200 committed
			left lamp available=3 reserved=0 committed=2
			left Lamp available=5 reserved=0 committed=0`,

		// Notices.

		"a SKU that was never empty is not announced as back, and one that is empty is sold out once": `
			create lamp stock=2 segments=2          => 201
			order lamp/o quantity=1 reserve_for=10m => 201
			cancel lamp/o                           => 200
			order lamp/p quantity=2 reserve_for=10m => 201
			hears lamp sold_out
			order lamp/q quantity=1                 => 409 sold_out
			cancel lamp/p quantity=1 ref=r          => 200
			hears lamp back_in_stock
			left lamp available=1 reserved=1 committed=0`,
		"the last unit goes by an order, a basket or by hand, and each time that is told": `
			create lamp stock=1                     => 201
			create bulb stock=9                     => 201
			order lamp/o quantity=1 reserve_for=10m => 201
			hears lamp sold_out
			pass 10m
			show lamp/o                             => 200 expired
			hears lamp back_in_stock
			order b lamp:1 bulb:1                   => 201
			hears lamp sold_out
			return b                                => 200
			hears lamp back_in_stock
			adjust lamp quantity=-1 ref=lost        => 201
			hears lamp sold_out
			restock lamp quantity=5 ref=van         => 201
			hears lamp back_in_stock
			left lamp available=5 reserved=0 committed=0`,
	})
}
