package sandboxtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
)

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

func (s *suite) find(match func(sandbox.Listed) bool) *sandbox.Listed {
	s.Helper()
	all, err := s.driver.List(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, l := range all {
		if match(l) {
			return &l
		}
	}
	return nil
}

func (s *suite) absent(id string) {
	s.Helper()
	if l := s.find(func(l sandbox.Listed) bool { return l.ID == id }); l != nil {
		s.Errorf("cell is still listed: %+v", *l)
	}
}

func (s *suite) absentName(name string) {
	s.Helper()
	if l := s.find(func(l sandbox.Listed) bool { return l.Name == name }); l != nil {
		s.Errorf("something was left behind: %+v", *l)
	}
}

// list: what lives is listed with all its labels, whatever its state. Specs stay as they were.
func (s *suite) list() {
	spec := s.o.Spec(s.T, "sleep")
	before, err := json.Marshal(spec)
	if err != nil {
		s.Fatal(err)
	}
	cell := s.create(spec)
	if after, _ := json.Marshal(spec); string(after) != string(before) {
		s.Errorf("the driver changed the spec:\n%s\n%s", before, after)
	}
	check := func(state string) {
		l := s.find(func(l sandbox.Listed) bool { return l.ID == cell.ID() })
		if l == nil {
			s.Fatalf("cell is not listed while %s", state)
		}
		if l.Kind != "cell" || l.Name != spec.Name || l.State == "" || l.Created.IsZero() {
			s.Errorf("listed as %+v", *l)
		}
		want := map[string]string{
			sandbox.LabelManaged: "1", sandbox.LabelKind: "cell",
			sandbox.LabelCall: "call-1", sandbox.LabelSkill: "some-skill",
		}
		for key, value := range want {
			s.equal("label "+key, l.Labels[key], value)
		}
	}
	check("created")
	if err := cell.Start(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.ready(cell)
	check("running")
	if err := cell.Kill(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.wait(cell)
	check("stopped")
	if err := cell.Destroy(s.ctx); err != nil {
		s.Fatal(err)
	}
	s.absent(cell.ID())
}

// remove: what another process left is removed by its listed id.
func (s *suite) remove() {
	cell := s.start("sleep")
	s.ready(cell)
	for range 2 {
		if err := s.driver.Remove(s.ctx, cell.ID()); err != nil {
			s.Fatal(err)
		}
	}
	s.absent(cell.ID())
	if _, err := cell.Wait(s.ctx); s.ctx.Err() != nil {
		s.Errorf("wait for a removed cell: %v", err)
	}
}

// isolation: see the probes in testdata/program.
func (s *suite) isolation() {
	out, exit := s.run(s.o.Spec(s.T, "probe"))
	if exit.Code != 0 {
		s.Fatalf("exit %+v\n%s%s", exit, out.stdout, out.stderr)
	}
	got := make(map[string]string)
	for line := range strings.SplitSeq(out.stdout, "\n") {
		key, value, _ := strings.Cut(line, ": ")
		got[key] = value
	}
	for _, key := range []string{
		"socket AF_ALG", "socket AF_VSOCK", "io_uring_setup", "unshare user", "ptrace", "bpf", "mount", "write root",
		"read kcore", "read keys", "write sysrq", "dial outside",
	} {
		s.row(key, got[key], "refused")
	}
	s.row("write scratch", got["write scratch"], "done")
	s.row("fill scratch", got["fill scratch"], "done")
	s.row("interfaces", got["interfaces"], "lo")
	s.row("uid", got["uid"], "65601 gid: 65601 groups: [65601]")
	s.row("hostname", got["hostname"], "cell")
	zero := "0000000000000000"
	status := fmt.Sprintf("CapInh=%[1]s CapPrm=%[1]s CapEff=%[1]s CapBnd=%[1]s CapAmb=%[1]s NoNewPrivs=1 Seccomp=2", zero)
	s.row("status", got["status"], status)
}

// row is one fact of [suite.isolation].
func (s *suite) row(key, got, want string) {
	s.Helper()
	if why, ok := s.o.Differs[key]; ok && got != want {
		s.Logf("%s: %s, since %s", key, got, why)
		return
	}
	s.equal(key, got, want)
}

func (s *suite) outOfMemory() {
	cell := s.start("hog")
	s.read(cell)
	exit := s.wait(cell)
	if exit.Code != 137 || !exit.Evidence.OOMKilled || !regexp.MustCompile(`^(kernel|engine)$`).MatchString(exit.Evidence.Confidence) {
		s.Errorf("exit of a program that takes all memory: %+v", exit)
	}
}
