package classroom

import "inventory/internal/app"

// state is what the page shows.
type state struct {
	plan
	LocksOff bool           `json:"locks_off"`
	Redis    bool           `json:"redis"` // it runs
	Services []serviceState `json:"services"`
	Sale     *saleState     `json:"sale"` // null: there was none
	Acts     []act          `json:"acts"`
	Breaks   []breaking     `json:"breaks"`
}

type serviceState struct {
	Stalled bool `json:"stalled"`
	Cut     bool `json:"cut"`
}

type saleState struct {
	order
	SKU     string  `json:"sku"`
	Running bool    `json:"running"`
	Points  []point `json:"points"`
}

func (s *School) state() state {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now := state{
		plan: s.house.plan, LocksOff: s.house.Lock == app.LockNone, Redis: !s.network.isDown(), Acts: s.actsNow(), Breaks: breaks(),
	}
	for number, p := range s.house.processes {
		now.Services = append(now.Services, serviceState{p.gate.isShut(), s.network.isCut(number)})
	}
	if s.sale != nil {
		now.Sale = &saleState{s.sale.order, s.sale.SKU, s.open, s.sale.last(kept)}
	}
	return now
}
