package kubernetes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
)

// envCalls names the environment variable with how many calls [TestTheWallLosesNothing] makes.
const envCalls = "HOTCELL_KUBE_CALLS"

// The skill "answer" with the runner around it, and without.
const (
	withRunner = "answer"
	bare       = "answer-bare"
)

// walled is a supervisor whose cells are pods, and which has the skill "answer".
func walled(t *testing.T, traffic int64) *rig.Rig {
	t.Helper()
	for _, part := range []string{"kubernetes", "docker", "image-python", "go"} {
		testutil.Require(t, part)
	}
	program, err := os.ReadFile(testutil.GoBuild(t, "./testdata/answer"))
	if err != nil {
		t.Fatal(err)
	}
	skills := fstest.MapFS{}
	for name, run := range map[string]string{
		withRunner: "command: [answer]", bare: "command: [/skill/answer], frames: true",
	} {
		folder := rig.PythonSkill(name, "limits: {memory: 32Mi}\nrun: {image: '"+rig.PythonImage+"', "+run+"}\n", "")
		delete(folder, name+"/main.py")
		folder[name+"/answer"] = &fstest.MapFile{Data: program, Mode: 0o755}
		skills = rig.Merge(skills, folder)
	}
	flood := rig.PythonSkill("flood", "", "while True: print('x' * 1000)")
	r, err := rig.New(rig.Options{
		Runner: testutil.GoBuild(t, "github.com/hotcell/hotcell/cmd/hotcell-runner"),
		Skills: rig.Merge(skills, flood), Driver: "kubernetes", Traffic: traffic,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(2 * time.Minute); err != nil {
			t.Error(err)
		}
	})
	return r
}

// call makes one call, which may take its time, and collects what it says.
func call(ctx context.Context, r *rig.Rig, skill, say string) (said []string, answer *a2e.CallResponse) {
	patience := 300
	req := &a2e.CallRequest{Name: skill, Arguments: map[string]any{"say": say}, Timeout: &patience}
	var mu sync.Mutex
	answer = r.Run(ctx, a2e.Caller{Door: "test"}, req, nil, a2e.EventWriterFunc(func(_ context.Context, ev *a2e.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if text, ok := ev.Data["message"].(string); ok {
			said = append(said, text)
		}
		return nil
	}))
	return said, answer
}

// resultOf is the text that a skill gave as its result.
func resultOf(answer *a2e.CallResponse) (text string) {
	if data, err := json.Marshal(answer.Data.Data); err != nil || json.Unmarshal(data, &text) != nil {
		return ""
	}
	return text
}

// An attach may lose the output of a program that ends at once: of calls whose skills do just that nothing is lost, neither an event
// nor the result, with the runner or without.
func TestTheWallLosesNothing(t *testing.T) {
	total := 100
	if text := os.Getenv(envCalls); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q: expected a number above 0", envCalls, text)
		}
		total = n
	}
	r := walled(t, 0)
	began := time.Now()
	next := make(chan int, total)
	for i := range total {
		next <- i
	}
	close(next)
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for range rig.AtOnce {
		all.Go(func() {
			for i := range next {
				start, skill := time.Now(), []string{withRunner, bare}[i%2]
				say := fmt.Sprintf("call %d says %s", i, rand.Text())
				said, answer := call(t.Context(), r, skill, say)
				if result := resultOf(answer); answer.Error != nil || result != say || !slices.Contains(said, say) {
					t.Errorf("call %d of %s: error %v, said %q, result %q, want %q", i, skill, answer.Error, said, result, say)
				}
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	whole := time.Since(began)
	fmt.Printf("soak: %s: %d calls, %d at a time, in %v: %.1f a second, each within %v (half of them %v)\n", t.Name(), total, rig.AtOnce,
		whole.Round(time.Second), float64(total)/whole.Seconds(), took[total-1].Round(time.Millisecond), took[total/2].Round(time.Millisecond))
}

// A skill whose words are more than a cell may say on its way through a cluster ends for that reason.
func TestTheWallIsBounded(t *testing.T) {
	r := walled(t, 128<<10)
	_, answer := call(t.Context(), r, "flood", "")
	if e := answer.Error; e == nil || e.Code != a2e.SkillError || e.Reason() != a2e.ReasonOutputLimit || e.Detail["budget"] != "traffic" {
		t.Errorf("answer %+v", e)
	}
	if said, answer := call(t.Context(), r, withRunner, "next"); answer.Error != nil || !slices.Contains(said, "next") {
		t.Errorf("the next call: %v, %q", answer.Error, said)
	}
}
