package cgroup

import "testing"

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name          string
		signs         signs
		oom, pressure bool
	}{
		{"nothing happened", signs{Sure: true}, false, false},
		{"nothing happened, as far as one knows", signs{}, false, false},
		{"killed from outside", signs{Killed: true}, false, false},
		{"killed from outside at its limit, which page cache had filled", signs{AtLimit: true, Killed: true}, false, false},
		{"a kill at the own limit", signs{AtLimit: true, Rang: true, Kills: 1, Sure: true}, true, false},
		{"a kill at the own limit, whose ring another took", signs{AtLimit: true, Kills: 1, Killed: true}, true, false},
		{"a kill at the own limit that nobody saw counted", signs{AtLimit: true, Rang: true, Killed: true}, true, false},
		{"a ring at the own limit without a kill", signs{AtLimit: true, Rang: true, Sure: true}, false, false},
		{"a ring at the own limit without a kill, then killed from outside", signs{AtLimit: true, Rang: true, Sure: true, Killed: true}, false, false},
		{"a kill above", signs{Rang: true, Kills: 1, Sure: true}, false, true},
		{"a kill above that did not ring: the host's own memory", signs{Kills: 2, Sure: true}, false, true},
		{"a kill above that nobody saw counted", signs{Rang: true, Killed: true}, false, true},
		{"a ring above that was another's", signs{Rang: true, Sure: true}, false, false},
		{"a ring above that was another's, then killed from outside", signs{Rang: true, Sure: true, Killed: true}, false, false},
		{"a ring above, and an orderly end", signs{Rang: true}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if oom, pressure := tt.signs.verdict(); oom != tt.oom || pressure != tt.pressure {
				t.Errorf("got %v, %v; want %v, %v", oom, pressure, tt.oom, tt.pressure)
			}
		})
	}
}
