package host

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hotcell/hotcell/internal/audit"
)

// doneLimit is how long what was done waits for the audit, whether somebody still waits for it or not.
const doneLimit = 10 * time.Second

// recordDone enters into the audit what was done already.
func recordDone(ctx context.Context, to audit.Recorder, e audit.Entry) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doneLimit)
	defer cancel()
	if err := to.Record(ctx, e); err != nil {
		return fmt.Errorf("it is done, but the audit could not be written (%s): %w", e.Kind, err)
	}
	return nil
}

// RecordAct enters into the audit what an operator has done with a command.
func RecordAct(ctx context.Context, to audit.Recorder, kind, skill string, data map[string]any) error {
	return recordDone(ByOperator(ctx), to, audit.Entry{Kind: kind, Skill: skill, Data: data})
}

const operatorDoor = "cli"

// ByOperator is a context for what the user of this process does with a command.
func ByOperator(ctx context.Context) context.Context {
	return audit.By(ctx, audit.Actor{Principal: fmt.Sprintf("uid:%d", os.Getuid()), Door: operatorDoor})
}
