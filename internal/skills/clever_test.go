package skills

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotcell/hotcell/internal/clever"
	"github.com/hotcell/hotcell/internal/testutil"
)

func TestClever(t *testing.T) {
	l := company(t, &testBox{},
		"reads", "version: 1.2.0\nincludes: [base]\ntools: [reader, 'skill:base']\ninput_schema: {type: object, required: [q]}\n",
		"writes", "toolkits: [mcp:files]\nwrites: true\noutput_schema: {}\n",
		"base", "tools: ['mcp:files/read']\n",
		"typeless", "input_schema: {required: [q]}\n",
	)
	for _, name := range []string{"reads", "writes", "base"} {
		def, err := found(t, l, name).Clever()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.MarshalIndent(def, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, "testdata/clever_"+name+".json", append(raw, '\n'))
	}
	var wrong *clever.ValidationError
	if _, err := found(t, l, "typeless").Clever(); !errors.As(err, &wrong) {
		t.Errorf("a schema without type: %v", err)
	}
}
