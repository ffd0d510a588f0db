package config

import (
	"os"
	"strings"
	"testing"
)

// The reference has a row for every key, with its default, and none for a key that is not there.
func TestEveryKeyIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // by key, what stands as default
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		key := strings.Trim(cells[1], " `")
		rows[key] = strings.Trim(cells[2], " `")
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%s has no meaning", key)
		}
	}
	root := Default(true, "", "")
	want := map[string]string{"images.defaults.python": root.Images.Defaults["python"], "images.defaults.sh": root.Images.Defaults["sh"]}
	for _, f := range fields() {
		if !f.isMap() {
			want[f.key] = strings.ReplaceAll(strings.Trim(show(f.place(root)), `[]"`), `"`, "")
		}
	}
	for key, def := range want {
		if got, ok := rows[key]; !ok || strings.Trim(got, `[]"`) != def {
			t.Errorf("docs/config.md: %s has the default %q, want %q (a row is there: %t)", key, got, def, ok)
		}
	}
	for key := range rows {
		if _, ok := want[key]; !ok && !strings.HasPrefix(key, "-") && !strings.HasPrefix(key, "HOTCELL") {
			t.Errorf("docs/config.md: there is no key %s", key)
		}
	}
}
