package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// large journals 100,000 calls of 1,000 skills by 20 principals within a day; one of the skills has a fifth of them, and one of the
// principals half. Some are in flight.
func large(b *testing.B) *Store {
	b.Helper()
	s := opened(b, Options{Now: func() time.Time { return start.Add(24 * time.Hour) }, Keep: Keep{Calls: 1000 * time.Hour}})
	rnd := rand.New(rand.NewPCG(1, 2))
	const calls, flight = 100_000, 50
	for from := 0; from < calls; from += 1000 {
		err := s.ask(context.Background(), func(tx *sql.Tx) error {
			for i := from; i < from+1000; i++ {
				if err := s.generate(tx, rnd, i, i >= calls-flight); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func (s *Store) generate(tx *sql.Tx, rnd *rand.Rand, i int, flight bool) error {
	r := taken(fmt.Sprintf("01K%023d", i), fmt.Sprintf("request-%d", i))
	r.Accepted = start.Add(time.Duration(i) * 24 * time.Hour / 100_000)
	r.Skill, r.Principal, r.Agent = fmt.Sprintf("skill-%04d", rnd.IntN(1000)), fmt.Sprintf("principal-%d", rnd.IntN(20)), fmt.Sprintf("agent-%d", rnd.IntN(50))
	if rnd.IntN(5) == 0 {
		r.Skill = "skill-0000"
	}
	if rnd.IntN(2) == 0 {
		r.Principal = "principal-0"
	}
	r.Door = []string{"mcp", "rest", "a2e"}[rnd.IntN(3)]
	r.Account = &control.Account{Policy: strings.Repeat("ab", 32), Image: "sha256:" + strings.Repeat("cd", 32), Driver: "docker"}
	if flight {
		return s.enterWhole(tx, r)
	}
	verdict := control.VerdictSucceeded
	if dice := rnd.IntN(1000); dice < 50 {
		verdict = []string{"timeout", "skill_error", "canceled", "out_of_memory", "sandbox_crash"}[dice%5]
	}
	r = stands(r, verdict)
	r.Ended = r.Accepted.Add(time.Duration(rnd.ExpFloat64() * float64(time.Second)))
	r.Answer = json.RawMessage(`{"data":"` + strings.Repeat("x", 600) + `"}`)
	return s.enterWhole(tx, r)
}

// p50 runs f again and again, and reports how long half of the runs took at most.
func p50(b *testing.B, f func() error) {
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkSearch is a page of 50 out of 100,000 calls of 1,000 skills, with each filter.
func BenchmarkSearch(b *testing.B) {
	s := large(b)
	middle := control.Place{At: start.Add(12 * time.Hour).UnixMicro(), ID: "x"}.Cursor()
	for _, tt := range []struct {
		name  string
		whose control.Whose
		q     control.CallQuery
	}{
		{"all", control.Whose{}, control.CallQuery{}},
		{"middle", control.Whose{}, control.CallQuery{Before: middle}},
		{"skill", control.Whose{}, control.CallQuery{Skill: "skill-0007"}},
		{"no-such-skill", control.Whose{}, control.CallQuery{Skill: "none"}},
		{"principal", control.Whose{}, control.CallQuery{Principal: "principal-3"}},
		{"own", control.Only("principal-3"), control.CallQuery{}},
		{"own-skill", control.Only("principal-3"), control.CallQuery{Skill: "skill-0007"}},
		{"own-failed", control.Only("principal-3"), control.CallQuery{Verdict: "failed"}},
		{"large-owner", control.Only("principal-0"), control.CallQuery{}},
		{"large-owner-failed", control.Only("principal-0"), control.CallQuery{Verdict: "failed"}},
		{"large-owner-no-such-door", control.Only("principal-0"), control.CallQuery{Door: "none"}},
		{"large-owner-no-such-skill", control.Only("principal-0"), control.CallQuery{Skill: "none"}},
		{"large-skill", control.Whose{}, control.CallQuery{Skill: "skill-0000"}},
		{"large-skill-failed", control.Whose{}, control.CallQuery{Skill: "skill-0000", Verdict: "failed"}},
		{"large-skill-no-such-code", control.Whose{}, control.CallQuery{Skill: "skill-0000", Verdict: "version_mismatch"}},
		{"large-skill-no-such-agent", control.Whose{}, control.CallQuery{Skill: "skill-0000", Agent: "none"}},
		{"agent", control.Whose{}, control.CallQuery{Agent: "agent-7"}},
		{"no-such-agent", control.Whose{}, control.CallQuery{Agent: "none"}},
		{"door", control.Whose{}, control.CallQuery{Door: "mcp"}},
		{"no-such-door", control.Whose{}, control.CallQuery{Door: "none"}},
		{"running", control.Whose{}, control.CallQuery{Verdict: "running"}},
		{"succeeded", control.Whose{}, control.CallQuery{Verdict: "succeeded"}},
		{"failed", control.Whose{}, control.CallQuery{Verdict: "failed"}},
		{"canceled", control.Whose{}, control.CallQuery{Verdict: "canceled"}},
		{"out_of_memory", control.Whose{}, control.CallQuery{Verdict: "out_of_memory"}},
		{"no-such-code", control.Whose{}, control.CallQuery{Verdict: "version_mismatch"}},
		{"time", control.Whose{}, control.CallQuery{Since: start.Add(6 * time.Hour), Until: start.Add(7 * time.Hour)}},
		{"all-filters", control.Whose{}, control.CallQuery{Skill: "skill-0007", Principal: "principal-3", Agent: "agent-7", Door: "mcp", Verdict: "failed", Since: start}},
		{"largest-page", control.Whose{}, control.CallQuery{Limit: control.MaxPage}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			p50(b, func() error {
				_, err := s.Search(context.Background(), tt.whose, tt.q)
				return err
			})
		})
	}
}

// BenchmarkStats is numbers over 100,000 calls of 1,000 skills: by a process that begins, and by one that has been asked before.
func BenchmarkStats(b *testing.B) {
	s := large(b)
	q := control.StatsQuery{Since: start, Until: start.Add(25 * time.Hour), Buckets: 60}
	ask := func() error {
		got, err := s.Stats(context.Background(), control.Whose{}, q)
		if err == nil && got.Total.Calls < 99_000 {
			err = fmt.Errorf("%d calls are counted", got.Total.Calls)
		}
		return err
	}
	b.Run("first", func(b *testing.B) {
		p50(b, func() error { s.meter = meter{}; return ask() })
	})
	b.Run("all", func(b *testing.B) { p50(b, ask) })
	b.Run("own", func(b *testing.B) {
		p50(b, func() error { _, err := s.Stats(context.Background(), control.Only("principal-3"), q); return err })
	})
	b.Run("largest", func(b *testing.B) {
		q.Buckets = 200
		p50(b, ask)
	})
	n := 100_000
	rnd := rand.New(rand.NewPCG(3, 4))
	b.Run("between-calls", func(b *testing.B) { // each is asked after a call has ended
		p50(b, func() error {
			n++
			return errors.Join(s.ask(context.Background(), func(tx *sql.Tx) error { return s.generate(tx, rnd, n, false) }), ask())
		})
	})
}
