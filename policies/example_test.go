package policies_test

import (
	"fmt"
	"os"
	"time"

	"github.com/hotcell/hotcell/policies"
)

// A skill asks for more than the operator allows, and the call for less time than the skill.
func ExampleNarrow() {
	operator := policies.Policy{Limits: policies.Limits{Memory: 512 * policies.Mi}}
	skill := policies.Policy{Limits: policies.Limits{Memory: policies.Gi}, Timeout: 2 * time.Minute}
	call := policies.Policy{Timeout: 30 * time.Second}

	effective, err := policies.Narrow(operator, skill, call)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println(effective.Limits.Memory, effective.Limits.CPU, effective.Timeout)
	for _, clamp := range effective.Clamps {
		fmt.Println(clamp)
	}
	// Output:
	// 512Mi 1 30s
	// limits.memory: the skill asks for 1Gi, the operator allows 512Mi
}
