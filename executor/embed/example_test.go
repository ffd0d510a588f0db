package embed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hotcell/hotcell/executor/embed"
)

// greeter serves one skill, greet, in this process.
type greeter struct{}

func (greeter) ListSkills(context.Context, embed.Caller) ([]embed.SkillDefinition, error) {
	return []embed.SkillDefinition{{
		Name: "greet", Description: "Greets somebody by name.",
		InputSchema: json.RawMessage(`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`),
	}}, nil
}

func (greeter) ExecuteSkill(_ context.Context, _ embed.Caller, ex embed.Execution) (*embed.SkillResult, error) {
	if err := ex.EmitEvent(embed.EventProgress, map[string]any{"pct": 50, "message": "looking up the name"}); err != nil {
		return nil, err
	}
	return &embed.SkillResult{Success: true, Data: fmt.Sprintf("Hello, %s!", ex.Arguments["name"])}, nil
}

// A program that serves a skill of its own beside those that run in cells.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "embed-")
	defer os.RemoveAll(dir)
	host, err := embed.Open(ctx, embed.Options{
		Plugins: []embed.Plugin{greeter{}},
		Set:     map[string]any{"data_dir": dir, "sandbox.driver": "docker"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close(ctx)
	// host.ServeStdio(ctx, os.Stdin, os.Stdout) would speak A2E to whoever started this program.
	for _, args := range []map[string]any{{"name": "Ada"}, {}} {
		answer := host.Call(ctx, embed.Caller{Agent: "example"}, &embed.Request{Name: "greet", Arguments: args}, func(ev *embed.Event) {
			fmt.Println(ev.Kind, ev.Data["message"])
		})
		if answer.Error != nil {
			fmt.Println(answer.Error.Code)
			continue
		}
		fmt.Printf("%s\n", answer.Data.Data)
	}
	// Output:
	// progress looking up the name
	// "Hello, Ada!"
	// schema_violation
}
