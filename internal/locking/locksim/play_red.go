package locksim

import (
	"testing"
	"time"
)

// RandomRed plays the history of a seed on several servers that RedLocks are on. Each server has a time of its own,
// and all that goes wrong does so for one of them, or between one of them and a process. It must be called inside
// a bubble.
func RandomRed(t *testing.T, seed uint64) *World {
	p := newPlay(seed)
	p.fast, p.crowd = p.span(100, 300), 3 // few, and for a short time, for they poll
	p.stay = 3 * p.fast / 2
	weather := p.sky()
	drifts := make([]float64, 3+2*p.random.IntN(2))
	for i := range drifts {
		drifts[i] = p.drift()
	}
	p.world = New(t, seed, weather, drifts...)
	for _, s := range p.world.servers {
		s.jump = p.span(0, 5000)
	}
	p.names = []string{red + "a", red + "b"}[:1+p.random.IntN(2)]
	p.run(p.nodeFaults)
	return p.world
}

// nodeFaults chooses what happens to servers, to processes and to the ways between them. A server that forgets is
// no excuse by itself: the locks say how many they bear.
func (p *Play) nodeFaults() {
	w := p.world
	clears := w.weather.Clears.Milliseconds()
	forgets := p.random.IntN(3) == 0
	for range p.random.IntN(6) {
		someone := w.clients[p.random.IntN(len(w.clients))]
		var f Fault
		switch p.random.IntN(10) {
		case 0:
			f = Pause(p.span(5, 4*p.fast.Milliseconds()))
		case 1:
			f = Hold(someone, p.span(5, 4*p.fast.Milliseconds()))
		case 2, 3:
			f = Part(someone, p.span(5, 4*p.fast.Milliseconds()))
		case 4:
			f = Kill(someone)
		case 5:
			f = Cut(someone)
		case 6:
			f = ForgetScripts
		case 7:
			f = Step(time.Duration(p.random.Int64N(int64(slack / 4))))
			if p.random.IntN(2) == 0 {
				f = Step(-p.span(1, 100000))
			}
		case 8:
			f = Restart(p.span(1, 300), true)
		default:
			f = Restart(p.span(1, 300), !forgets)
			p.forgets = p.forgets || forgets
			if forgets && p.random.IntN(2) == 0 {
				f = Flush
			}
		}
		w.AtNode(p.random.IntN(len(w.servers)), p.span(1, clears), f)
	}
}
