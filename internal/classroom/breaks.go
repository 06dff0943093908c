package classroom

import "inventory/internal/app"

// breaking is a fault that a person can cause: its start and its end, and why the sale goes on as it does.
type breaking struct {
	Name    string `json:"name"`
	Break   string `json:"break"` // the label of the button
	Mend    string `json:"mend"`  // "": it ends by itself
	Each    bool   `json:"each"`  // it affects one process
	Why     string `json:"why"`
	Alone   string `json:"-"` // why, if there is one process
	WhyMend string `json:"-"`
	do      func(h *School, process int, broken bool) error
}

// breaks returns the table of the faults.
func breaks() []breaking {
	return []breaking{
		{
			Name: "redis", Break: "Stop Redis", Mend: "Start Redis",
			Why: "Locks only save waiting: after three failures in a row workers do without them, and only the rows of the database decide. " +
				"A RedLock does not even notice, because two of its three servers answer.",
			WhyMend: "A probe in the background notices within a second that locks work, and workers take them again.",
			do:      func(s *School, _ int, broken bool) error { s.network.stop(broken); return nil },
		},
		{
			Name: "empty", Break: "Empty Redis",
			Why: "All locks are gone at once, so two processes may think that they hold a segment: " +
				"the fencing token in the segment's row lets only the newer one write.",
			Alone: "All locks are gone at once. The process takes them again, and nobody else was there to take them in between.",
			do:    func(s *School, _ int, _ bool) error { s.network.empty(); return nil },
		},
		{
			Name: "stall", Break: "Stop process", Mend: "Wake process", Each: true,
			Why: "A stopped process keeps its segment until the lease ends, 5 s at most, while others sell the other segments; " +
				"its buyers give up after 2 s and send the same order ids to another process, so nothing is sold twice.",
			Alone: "Nobody is left to sell: every order fails after the 2 s that its buyer waits. " +
				"Two processes or more would go on without the one that is stopped.",
			WhyMend: "The writes of the process are now late: its token is old and its deadlines are over, so none of them counts.",
			do: func(s *School, process int, broken bool) error {
				gate := s.house.processes[process].gate
				if broken {
					gate.shut()
				}
				s.network.hold(process, broken)
				if !broken {
					gate.reopen()
				}
				return nil
			},
		},
		{
			Name: "cut", Break: "Cut off process", Mend: "Connect process", Each: true,
			Why: "A process that cannot reach Redis goes on without locks and meets the others at the rows, " +
				"where the database lets one after the other write.",
			Alone:   "A process that cannot reach Redis goes on without locks. It is alone at its rows, and misses none.",
			WhyMend: "The process takes locks again, and goes to segments that nobody holds.",
			do:      func(s *School, process int, broken bool) error { s.network.cut(process, broken); return nil },
		},
		{
			Name: "locks", Break: "Switch locks off", Mend: "Switch locks on",
			Why: "Without locks all processes write to whichever rows they like and wait for each other there; " +
				"the guard of the database keeps every unit right.",
			Alone:   "One process writes alone: without locks it has less to do, and the guard of the database keeps every unit right.",
			WhyMend: "With locks each process keeps to segments that no other one writes to.",
			do: func(s *School, _ int, broken bool) error {
				p := s.house.plan
				p.Lock = s.locked
				if broken {
					p.Lock = app.LockNone
				}
				return s.rebuild(p)
			},
		},
	}
}
