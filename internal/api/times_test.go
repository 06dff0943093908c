package api_test

import "testing"

// TestAnswersTellTimes: each answer that shows an order says when its units were taken and committed, also one that is sent again.
func TestAnswersTellTimes(t *testing.T) {
	t.Parallel()
	const (
		created  = " created_at=2026-11-27T09:00:00Z"
		reserved = created + " !committed_at"
		atOnce   = created + " committed_at=2026-11-27T09:00:00Z"
		paid     = created + " committed_at=2026-11-27T09:05:00Z"
		late     = created + " committed_at=2026-11-27T09:20:00Z"
	)
	tellEach(t, map[string]string{
		"one SKU, at once": `
			create lamp stock=9                     => 201
			order lamp/o quantity=2                 => 201` + atOnce + `
			many lamp/p:1                           => 200` + atOnce + `
			pass 5m
			2 x order lamp/o quantity=2             => 2 x 200` + atOnce + `
			show lamp/o                             => 200` + atOnce + `
			return lamp/o quantity=1 ref=a          => 200` + atOnce + `
			return lamp/o                           => 200 returned` + atOnce + `
			show lamp/p                             => 200` + atOnce,
		"one SKU, reserved": `
			create lamp stock=9                     => 201
			order lamp/o quantity=2 reserve_for=10m => 201` + reserved + `
			order lamp/p quantity=2 reserve_for=10m => 201` + reserved + `
			order lamp/q quantity=2 reserve_for=10m => 201` + reserved + `
			extend lamp/o reserve_for=10m ref=a     => 200` + reserved + `
			cancel lamp/p                           => 200 cancelled` + reserved + `
			pass 5m
			order lamp/o quantity=2 reserve_for=10m => 200` + reserved + `
			2 x commit lamp/o                       => 2 x 200` + paid + `
			pass 15m
			show lamp/q                             => 200 expired` + reserved + `
			commit lamp/q if_ended=retake           => 200` + late + `
			show lamp/q                             => 200` + late + `
			order lamp/o quantity=2 reserve_for=10m => 200` + paid + `
			return lamp/o                           => 200` + paid,
		"several SKUs": `
			create lamp stock=9                     => 201
			create bulb stock=9                     => 201
			order n lamp:1 bulb:1                   => 201` + atOnce + `
			order o lamp:2 bulb:2 reserve_for=10m   => 201` + reserved + `
			order p lamp:1 bulb:1 reserve_for=10m   => 201` + reserved + `
			order q lamp:1 bulb:1 reserve_for=10m   => 201` + reserved + `
			extend o reserve_for=10m ref=a          => 200` + reserved + `
			cancel p                                => 200 cancelled` + reserved + `
			show o                                  => 200` + reserved + `
			pass 5m
			order o lamp:2 bulb:2 reserve_for=10m   => 200` + reserved + `
			2 x commit o                            => 2 x 200` + paid + `
			show o                                  => 200` + paid + `
			show bulb/o                             => 200` + paid + `
			order n lamp:1 bulb:1                   => 200` + atOnce + `
			pass 15m
			show q                                  => 200 expired` + reserved + `
			commit q lamp:1 if_ended=retake         => 200` + late + `
			revise n lamp:1 ref=b                   => 200` + atOnce + `
			revise n lamp:1 bulb:2 ref=c            => 200 sku=bulb created_at=2026-11-27T09:00:00Z
			return o                                => 200 returned` + paid,
	})
}
