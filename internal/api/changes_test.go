package api_test

import "testing"

// TestOrdersChange plays changes of orders: edits of reserved ones, parts that are paid, exchanges, and orders that get another buyer.
func TestOrdersChange(t *testing.T) {
	t.Parallel()
	tellEach(t, map[string]string{
		"a buyer takes one thing out of the basket, adds another and wants more of a third": `
			create lamp stock=5 segments=3          => 201
			create bulb stock=5                     => 201
			create wire stock=5                     => 201
			create plug stock=5                     => 201
			order o lamp:2 bulb:3 wire:1 reserve_for=10m => 201
			pass 5m
			revise o lamp:4 bulb:1 plug:2 ref=a     => 200 reserved !cancelled sku=plug !sku=wire expires_at=2026-11-27T09:10:00Z
			5 x revise o bulb:1 plug:2 lamp:4 ref=a => 5 x 200 reserved
			revise o lamp:4 bulb:1 plug:1 ref=a     => 422 ref_reused
			left lamp available=1 reserved=4 committed=0
			left bulb available=4 reserved=1 committed=0
			left wire available=5 reserved=0 committed=0
			left plug available=3 reserved=2 committed=0
			order o lamp:2 bulb:3 wire:1 reserve_for=10m => 200 sku=plug !sku=wire
			history lamp/o                          => 200 reserved quantity=2 ref=a
			history plug/o                          => 200 reserved quantity=2 ref=a
			history wire/o                          => 200 cancelled quantity=1 ref=a
			revise o wire:2 lamp:1 ref=b            => 200 sku=wire !sku=plug !sku=bulb
			commit o                                => 200 committed !reserved !sku=plug
			2 x commit o                            => 2 x 200 committed
			cancel o                                => 409 already_committed
			left lamp available=4 reserved=0 committed=1
			left bulb available=5 reserved=0 committed=0
			left wire available=3 reserved=0 committed=2
			left plug available=5 reserved=0 committed=0
			return o                                => 200 returned
			left wire available=5 reserved=0 committed=0`,
		"a change wants more than there is of two SKUs, changes nothing, and names both": `
			create lamp stock=5                     => 201
			create bulb stock=2                     => 201
			create wire stock=1                     => 201
			order o lamp:2 bulb:1 reserve_for=10m   => 201
			order wire/p quantity=1                 => 201
			revise o lamp:1 bulb:3 wire:1 ref=a     => 409 insufficient_stock sku=bulb sku=wire sold_out
			revise o lamp:1 none:1 ref=a            => 404 unknown_sku
			show o                                  => 200 quantity=2 !sku=wire
			left lamp available=3 reserved=2 committed=0
			left bulb available=1 reserved=1 committed=0
			revise o lamp:1 bulb:2 ref=a            => 200
			left lamp available=4 reserved=1 committed=0
			left bulb available=0 reserved=2 committed=0`,
		"a paid size is exchanged for another, and nobody gets between": `
			create s42 stock=1                      => 201
			create s43 stock=1                      => 201
			order o s42:1 reserve_for=10m           => 201
			commit o                                => 200
			& 5 x revise o s43:1 ref=swap
			& 5 x order s43/p-# quantity=1          => 5 x 200|409, 5 x 201|409
			show o                                  => 200 committed !sku=nothing`,
		"a size is exchanged, the old one is damaged, and each unit is accounted for": `
			create s42 stock=3                      => 201
			create s43 stock=3                      => 201
			order o s42:2 reserve_for=10m           => 201
			commit o                                => 200
			revise o s42:1 s43:1 ref=a restock=false reason=worn => 200 committed !reserved
			3 x revise o s42:1 s43:1 ref=a restock=false reason=worn => 3 x 200
			revise o s42:1 s43:1 ref=a              => 422 ref_reused
			movements s42                           => 200 write_off order_id=o quantity=-1 reason=worn
			left s42 available=1 reserved=0 committed=1
			left s43 available=2 reserved=0 committed=1
			revise o s43:2 ref=b                    => 200 !sku=s42
			revise o s42:1 s43:2 ref=c              => 200 sku=s42
			history s42/o                           => 200 reserved written_off returned committed ref=c
			return s43/o quantity=1 ref=d           => 200 quantity=1
			revise o s42:1 s43:2 ref=e              => 200 committed
			left s42 available=1 reserved=0 committed=1
			left s43 available=1 reserved=0 committed=2
			return o                                => 200 returned
			revise o s42:1 ref=f                    => 409 order_ended
			revise o s42:1 s43:2 ref=e              => 409 order_ended
			left s42 available=2 reserved=0 committed=0`,
		"an order that has ended is not changed": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:2 reserve_for=10m          => 201
			order p lamp:1 reserve_for=10m          => 201
			cancel o                                => 200
			revise o lamp:1 bulb:1 ref=a            => 409 order_ended order_status=cancelled
			revise none lamp:1 ref=a                => 404 unknown_order
			pass 10m
			revise p lamp:1 bulb:1 ref=a            => 409 order_ended order_status=expired
			commit o if_ended=retake                => 200 committed
			revise o lamp:1 bulb:1 ref=a            => 200 committed
			left lamp available=4 reserved=0 committed=1
			left bulb available=4 reserved=0 committed=1`,
		"a changed basket ends, and what it held last is taken again": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			create wire stock=5                     => 201
			order o lamp:2 bulb:2 reserve_for=10m   => 201
			revise o lamp:1 wire:3 ref=a            => 200
			cancel o                                => 200 cancelled !reserved
			left lamp available=5 reserved=0 committed=0
			commit o if_ended=retake                => 200 committed !sku=bulb
			left lamp available=4 reserved=0 committed=1
			left bulb available=5 reserved=0 committed=0
			left wire available=2 reserved=0 committed=3
			order q lamp:2 bulb:2 reserve_for=10m   => 201
			revise q bulb:1 ref=a                   => 200
			extend q reserve_for=30m ref=b          => 200 expires_at=2026-11-27T09:30:00Z
			revise q bulb:1 lamp:1 ref=c            => 200 expires_at=2026-11-27T09:30:00Z
			pass 31m
			commit q                                => 409 not_reserved order_status=expired
			commit q if_ended=retake                => 200 committed
			left lamp available=3 reserved=0 committed=2
			left bulb available=4 reserved=0 committed=1`,
		"limits and windows count what a change takes": `
			create lamp stock=9 per_buyer_limit=3 sale_ends_at=2026-11-27T09:30:00Z => 201
			create bulb stock=9 max_quantity=2      => 201
			order o lamp:2 bulb:1 buyer_id=ann reserve_for=50m => 201
			revise o lamp:4 bulb:3 ref=a            => 400 buyer_limit sku=lamp sku=bulb invalid_request
			revise o lamp:3 bulb:2 ref=a            => 200
			order lamp/p quantity=1 buyer_id=ann    => 409 buyer_limit
			revise o lamp:1 bulb:2 ref=b            => 200
			order lamp/p quantity=2 buyer_id=ann    => 201
			revise o lamp:2 bulb:2 ref=c            => 409 buyer_limit
			pass 30m
			return lamp/p                           => 200
			revise o lamp:2 bulb:2 ref=c            => 409 sale_closed
			revise o lamp:1 bulb:1 ref=d            => 200
			left lamp available=8 reserved=1 committed=0`,
		"a ticket that was held for a waiting list becomes the buyer's, without a gap": `
			create seat stock=3 per_buyer_limit=2   => 201
			create cap stock=3                      => 201
			order hold seat:2 cap:1 buyer_id=list reserve_for=10m => 201
			order seat/a quantity=1 buyer_id=ann    => 201
			revise hold seat:2 cap:1 buyer_id=ann ref=a => 409 buyer_limit
			revise hold seat:1 cap:1 buyer_id=ann ref=a => 200 reserved buyer_id=ann
			2 x revise hold seat:1 cap:1 buyer_id=ann ref=a => 2 x 200 buyer_id=ann
			history hold                            => 200 handed_over buyer_id=ann ref=a cancelled
			revise hold seat:1 cap:1 buyer_id=list ref=b reason=swap => 200 buyer_id=list
			revise hold seat:1 cap:1 buyer_id=ann ref=c => 200 buyer_id=ann
			history hold                            => 200 handed_over buyer_id=list ref=b reason=swap ref=c at=2026-11-27T09:00:00Z
			revise hold seat:1 cap:1 buyer_id=bob ref=a => 422 ref_reused
			order seat/b quantity=1 buyer_id=ann    => 409 buyer_limit order_ids=["a","hold"]
			order seat/c quantity=1 buyer_id=list   => 201
			order hold seat:2 cap:1 buyer_id=list reserve_for=10m => 200 buyer_id=ann
			order hold seat:2 cap:1 buyer_id=ann reserve_for=10m => 422 order_id_reused
			commit hold                             => 200 committed
			return hold                             => 200
			order seat/b quantity=1 buyer_id=ann    => 201
			left seat available=0 reserved=0 committed=3`,
		"one pair for each buyer, of any size: a size is exchanged, and the order changes hands": `
			create s41 stock=3 per_buyer_limit=1 limit_group=shoe => 201
			create s42 stock=3 per_buyer_limit=1 limit_group=shoe => 201
			order o s41:1 buyer_id=ann reserve_for=50m => 201
			revise o s42:1 ref=a                    => 200 sku=s42 !sku=s41
			revise o s41:1 s42:1 ref=b              => 409 buyer_limit limit_group=shoe sku=s41
			order s41/p quantity=1 buyer_id=bob     => 201
			revise o s42:1 buyer_id=bob ref=c       => 409 buyer_limit limit_group=shoe order_ids=["p"]
			return s41/p                            => 200
			revise o s42:1 buyer_id=bob ref=c       => 200 buyer_id=bob
			order s41/q quantity=1 buyer_id=ann     => 201
			order s41/r quantity=1 buyer_id=bob     => 409 buyer_limit order_ids=["o"]
			order s41/s quantity=1 buyer_id=carl reserve_for=10m => 201
			pass 10m
			revise o s41:1 buyer_id=carl ref=d      => 200 buyer_id=carl sku=s41
			commit o s41:1                          => 200 committed
			left s41 available=1 reserved=0 committed=2
			left s42 available=3 reserved=0 committed=0`,
		"two of three lines are shipped and paid, and the rest goes back for good": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			create wire stock=5                     => 201
			order o lamp:2 bulb:2 wire:2 reserve_for=10m => 201
			commit o lamp:1 none:1                  => 400 invalid_request
			commit o lamp:1 lamp:1                  => 400 invalid_request
			commit o lamp:3                         => 400 invalid_request
			commit o lamp:1 bulb:2                  => 200 committed !reserved !sku=wire
			5 x commit o bulb:2 lamp:1              => 5 x 200 committed
			commit o bulb:2                         => 409 already_committed
			commit o lamp:1 bulb:2 wire:1           => 409 not_reserved
			commit o                                => 200 committed !cancelled
			show o                                  => 200 committed !sku=wire
			order o lamp:2 bulb:2 wire:2 reserve_for=10m => 200 committed
			history wire/o                          => 200 cancelled
			left lamp available=4 reserved=0 committed=1
			left bulb available=3 reserved=0 committed=2
			left wire available=5 reserved=0 committed=0
			return o                                => 200 returned !cancelled
			left lamp available=5 reserved=0 committed=0`,
		"a part is paid too late, and it alone is taken again": `
			create lamp stock=5                     => 201
			create bulb stock=2                     => 201
			order o lamp:2 bulb:2 reserve_for=10m   => 201
			pass 10m
			commit o lamp:1                         => 409 not_reserved
			order bulb/p quantity=2                 => 201
			commit o lamp:1 if_ended=retake         => 200 committed !expired
			commit o lamp:1 if_ended=retake         => 200 committed
			commit o if_ended=retake                => 200 committed
			left lamp available=4 reserved=0 committed=1
			left bulb available=0 reserved=0 committed=2`,
		"changes, payments and cancels of a basket meet, and it is one of them": `
			create lamp stock=9                     => 201
			create bulb stock=9                     => 201
			order o lamp:2 reserve_for=10m          => 201
			& 3 x revise o lamp:1 bulb:1 ref=a
			& 3 x revise o bulb:3 ref=b
			& commit o
			& cancel o                              => 3 x 200|409, 3 x 200|409, 200|409, 200|409
			4 x return o                            => 4 x 200|409
			cancel o                                => 200|409
			left lamp available=9 reserved=0 committed=0
			left bulb available=9 reserved=0 committed=0`,
		"a line that a payment has released is taken again by a change": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:2 reserve_for=10m   => 201
			commit o lamp:1                         => 200 committed
			pass 1m
			revise o lamp:1 bulb:1 ref=a            => 200 committed
			history bulb/o                          => 200 reserved cancelled committed quantity=2 quantity=1
			left bulb available=4 reserved=0 committed=1`,
		"a line comes back, is sent out again by a change, and comes back again": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 bulb:1                   => 201
			return lamp/o                           => 200 returned
			revise o lamp:2 bulb:1 ref=a            => 200 committed !returned
			left lamp available=3 reserved=0 committed=2
			2 x return lamp/o                       => 2 x 200 returned
			left lamp available=5 reserved=0 committed=0
			revise o lamp:1 bulb:1 ref=b            => 200 committed !returned
			2 x return lamp/o restock=false reason=worn => 2 x 200 returned
			return lamp/o                           => 422 ref_reused
			revise o lamp:2 bulb:1 ref=c            => 200 committed !returned
			2 x return lamp/o restock=false reason=torn => 2 x 200 returned
			movements lamp                          => 200 quantity=-1 quantity=-2 reason=worn reason=torn
			history lamp/o                          => 200 committed returned written_off
			revise o lamp:2 bulb:1 ref=d            => 200 committed !returned
			return o                                => 200 returned !committed
			left lamp available=2 reserved=0 committed=0
			left bulb available=5 reserved=0 committed=0`,
		"a change reserves a SKU for no longer than the SKU allows": `
			create lamp stock=5                     => 201
			create hot stock=5 max_reserve_for=2m   => 201
			order o lamp:1 reserve_for=50m          => 201
			order hot/p quantity=1 reserve_for=50m  => 400 invalid_request field=reserve_for
			revise o hot:1 ref=a                    => 400 invalid_request
			left hot available=5 reserved=0 committed=0`,
		"an extension that is sent again extends nothing that a change has added since": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 reserve_for=10m          => 201
			extend o reserve_for=30m ref=r          => 200 expires_at=2026-11-27T09:30:00Z
			pass 5m
			revise o lamp:1 bulb:1 ref=a            => 200 expires_at=2026-11-27T09:30:00Z
			2 x extend o reserve_for=30m ref=r      => 2 x 200 expires_at=2026-11-27T09:30:00Z !expires_at=2026-11-27T09:35:00Z
			extend o reserve_for=40m ref=r          => 422 ref_reused
			pass 27m
			show o                                  => 200 expired !reserved
			left lamp available=5 reserved=0 committed=0
			left bulb available=5 reserved=0 committed=0`,
		"an extension that is sent again extends nothing, also if all that it has extended was changed": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 reserve_for=10m          => 201
			extend o reserve_for=30m ref=r          => 200 expires_at=2026-11-27T09:30:00Z
			pass 5m
			revise o bulb:1 ref=a                   => 200 expires_at=2026-11-27T09:30:00Z
			2 x extend o reserve_for=30m ref=r      => 2 x 200 expires_at=2026-11-27T09:30:00Z !expires_at=2026-11-27T09:35:00Z
			extend o reserve_for=40m ref=r          => 422 ref_reused
			extend o reserve_for=40m ref=s          => 200 expires_at=2026-11-27T09:45:00Z
			pass 41m
			extend o reserve_for=30m ref=r          => 200 expired !reserved
			left bulb available=5 reserved=0 committed=0`,
		"rv commit after a change that ended": `
			create lamp stock=5                     => 201
			create bulb stock=5                     => 201
			order o lamp:1 reserve_for=10m          => 201
			extend o reserve_for=30m ref=r          => 200 expires_at=2026-11-27T09:30:00Z
			pass 5m
			revise o lamp:1 bulb:1 ref=a            => 200 expires_at=2026-11-27T09:30:00Z
			commit o                                => 200 committed
			return bulb/o                           => 200 returned
			2 x extend o reserve_for=30m ref=r      => 2 x 200 committed`,
		"wrong changes are refused": `
			create lamp stock=9                     => 201
			order o lamp:2 reserve_for=10m          => 201
			revise o ref=a                          => 400 invalid_request field=lines
			revise o lamp:1                         => 400 invalid_request field=ref
			revise o lamp:0 ref=a                   => 400 invalid_request
			revise o lamp:1 lamp:2 ref=a            => 400 invalid_request
			revise o lamp:1 ref=a size=9            => 400 invalid_request field=size
			extend o reserve_for=20m ref=used       => 200
			revise o lamp:1 ref=used                => 422 ref_reused
			revise o lamp:1 ref=a                   => 200
			extend o reserve_for=20m ref=a          => 422 ref_reused
			left lamp available=8 reserved=1 committed=0`,
	})
}
