package bundled_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/hotcell/hotcell/internal/testutil"
)

// table is the part of a result that most tests look at.
type table struct {
	Rows       int      `json:"rows"`
	Duplicates int      `json:"duplicates"`
	Exact      bool     `json:"duplicates_exact"`
	Ragged     int      `json:"ragged"`
	Sampled    bool     `json:"sampled"`
	Encoding   string   `json:"encoding"`
	Delimiter  string   `json:"delimiter"`
	Columns    []column `json:"columns"`
	Problems   []struct {
		Line    int    `json:"line"`
		Message string `json:"message"`
	} `json:"problems"`
}

type column struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Count       int      `json:"count"`
	Nulls       int      `json:"nulls"`
	Distinct    int      `json:"distinct"`
	Approximate bool     `json:"approximate"`
	Min         any      `json:"min"`
	Max         any      `json:"max"`
	Mean        *float64 `json:"mean"`
	P25         *float64 `json:"p25"`
	P50         *float64 `json:"p50"`
	P75         *float64 `json:"p75"`
	Top         []top    `json:"top"`
}

type top struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

func profile(t *testing.T, args map[string]any, input string) (table, outcome) {
	t.Helper()
	o := run(t, "data-profile", args, input)
	if !o.result.Success {
		t.Fatalf("got %+v", o.result)
	}
	raw, err := json.Marshal(o.result.Data)
	if err != nil {
		t.Fatal(err)
	}
	var tab table
	if err := json.Unmarshal(raw, &tab); err != nil {
		t.Fatal(err)
	}
	return tab, o
}

func TestDataProfile(t *testing.T) {
	testutil.Require(t, "python3")
	csv := "id,name,score,born,active\n" +
		"1,Ada,3.5,1815-12-10,true\n" +
		"2,Alan,4,1912-06-23,no\n" +
		"3,Grace,NA,1906-12-09,true\n" +
		"2,Alan,4,1912-06-23,no\n" +
		"\n" +
		"10,\"Comma, \"\"quoted\"\"\nnew line\",-1e2,2000-01-01T10:00:00,yes\n"
	tab, o := profile(t, map[string]any{"csv": csv}, "")
	f := func(v float64) *float64 { return &v }
	want := []column{
		{Name: "id", Type: "integer", Count: 5, Distinct: 4, Min: 1.0, Max: 10.0, Mean: f(3.6), P25: f(2), P50: f(2), P75: f(3)},
		{Name: "name", Type: "string", Count: 5, Distinct: 4, Top: []top{
			{"Alan", 2}, {"Ada", 1}, {"Comma, \"quoted\"\nnew line", 1}, {"Grace", 1}}},
		{Name: "score", Type: "number", Count: 4, Nulls: 1, Distinct: 3, Min: -100.0, Max: 4.0, Mean: f(-22.125), P25: f(-22.375), P50: f(3.75), P75: f(4)},
		{Name: "born", Type: "date", Count: 5, Distinct: 4, Min: "1815-12-10", Max: "2000-01-01T10:00:00"},
		{Name: "active", Type: "boolean", Count: 5, Distinct: 3, Top: []top{{"no", 2}, {"true", 2}, {"yes", 1}}},
	}
	if diff := cmp.Diff(want, tab.Columns); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if tab.Rows != 5 || tab.Duplicates != 1 || !tab.Exact || tab.Ragged != 0 || len(tab.Problems) != 0 || tab.Delimiter != "," || tab.Encoding != "utf-8" {
		t.Errorf("got %+v", tab)
	}
	if o.result.Summary != "5 columns, 5 rows, 1 duplicate row" {
		t.Errorf("summary %q", o.result.Summary)
	}
	for _, part := range []string{"# Data profile", "| id | integer | 5 | 0 | 4 | 1 | 10 | 3.6 |", "## name", "| Comma, \"quoted\" new line | 1 |"} {
		if !strings.Contains(o.report, part) {
			t.Errorf("the report lacks %q:\n%s", part, o.report)
		}
	}
}

func TestDataProfileTypes(t *testing.T) {
	testutil.Require(t, "python3")
	cases := map[string]string{
		"1|2|-3|+4":                        "integer",
		"1|2.5|1e3|.5":                     "number",
		"007|008":                          "string",
		"1234567890123456789":              "string",
		"1|x":                              "string",
		"true|FALSE|Yes":                   "boolean",
		"2024-01-31|2024-02-29":            "date",
		"2024-02-30":                       "string",
		"31.01.2024|01.02.2024":            "date",
		"01/31/2024":                       "date",
		"2024-01-31T10:00:00+02:00":        "date",
		"|NA|null|None|NaN":                "string",
		"1||2":                             "integer",
		"inf|nan":                          "string",
		"1e999":                            "string",
		"1_000":                            "string",
		"٣|٤":                              "string",
		strings.Repeat("9", 5000):          "string",
		"0." + strings.Repeat("1", 40):     "number",
		"2024-01-31|not a date|1|true|1.5": "string",
	}
	// One table: a case a column, its values downwards, the rest empty.
	columns := slices.Sorted(maps.Keys(cases))
	rows := []string{strings.Repeat(",", len(columns)-1)}
	for n := range 6 {
		cells := make([]string, len(columns))
		for i, values := range columns {
			if list := strings.Split(values, "|"); n < len(list) {
				cells[i] = list[n]
			}
		}
		rows = append(rows, strings.Join(cells, ","))
	}
	tab, _ := profile(t, map[string]any{"csv": strings.Join(rows, "\n"), "delimiter": ","}, "")
	for i, values := range columns {
		if got := tab.Columns[i].Type; got != cases[values] {
			t.Errorf("%.60q is a %s, want %s", values, got, cases[values])
		}
	}
}

func TestDataProfileShapes(t *testing.T) {
	testutil.Require(t, "python3")
	for name, tt := range map[string]struct {
		csv, delimiter string
		sample         int
		want           string // names | rows duplicates ragged | delimiter | summary
	}{
		"empty":         {"", "", 0, "[] 0 0 0 , The table is empty"},
		"blank":         {"\n\n\n", "", 0, "[] 0 0 0 , The table is empty"},
		"header only":   {"a,b\n", "", 0, "[a b] 0 0 0 , 2 columns, 0 rows"},
		"blank first":   {"\n\na,b\n1,2\n", "", 0, "[a b] 1 0 0 , 2 columns, 1 row"},
		"semicolon":     {"a;b\n1,5;2\n", "", 0, "[a b] 1 0 0 ; 2 columns, 1 row"},
		"tab":           {"a\tb\n1\t2\n", "", 0, "[a b] 1 0 0 \t 2 columns, 1 row"},
		"bar":           {"a|b\n1|2\n", "", 0, "[a b] 1 0 0 | 2 columns, 1 row"},
		"quoted header": {"\"a;b;c\",d\n1,2\n", "", 0, "[a;b;c d] 1 0 0 , 2 columns, 1 row"},
		"given":         {"a:b\n1:2\n", ":", 0, "[a b] 1 0 0 : 2 columns, 1 row"},
		"names":         {"a,,a,a\n1,2,3,4\n", "", 0, "[a column_2 a_2 a_3] 1 0 0 , 4 columns, 1 row"},
		"ragged":        {"a,b\n1\n1,2,3\n1,2\n", "", 0, "[a b] 3 0 2 , 2 columns, 3 rows, 2 ragged rows"},
		"sample":        {"a\n1\n2\n3\n", "", 2, "[a] 2 0 0 , 1 column, 2 rows"},
		"sample of all": {"a\n1\n2\n", "", 2, "[a] 2 0 0 , 1 column, 2 rows"},
		"old mac":       {"a,b\r1,2\r3,4\r", "", 0, "[a b] 2 0 0 , 2 columns, 2 rows"},
		"windows, bom":  {"\uFEFFa,b\r\n1,2\r\n", "", 0, "[a b] 1 0 0 , 2 columns, 1 row"},
		"nul":           {"a,b\n\x00,2\n", "", 0, "[a b] 1 0 0 , 2 columns, 1 row"},
		"open quote":    {"a,b\n\"1,2\n3,4\n", "", 0, "[a b] 1 0 1 , 2 columns, 1 row, 1 ragged row"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := map[string]any{"csv": tt.csv}
			if tt.delimiter != "" {
				args["delimiter"] = tt.delimiter
			}
			if tt.sample > 0 {
				args["sample"] = tt.sample
			}
			tab, o := profile(t, args, "")
			names := []string{}
			for _, c := range tab.Columns {
				names = append(names, c.Name)
			}
			got := fmt.Sprintf("%v %d %d %d %s %s", names, tab.Rows, tab.Duplicates, tab.Ragged, tab.Delimiter, o.result.Summary)
			if got != tt.want {
				t.Errorf("\n got %q\nwant %q", got, tt.want)
			}
			if sampled := name == "sample"; tab.Sampled != sampled {
				t.Errorf("sampled is %t", tab.Sampled)
			}
		})
	}
}

func TestDataProfileProblems(t *testing.T) {
	testutil.Require(t, "python3")
	dir := t.TempDir()
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("a,b\né,2\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	for name, tt := range map[string]struct {
		content  []byte
		encoding string
		want     string
	}{
		"latin-1":    {[]byte("name,n\nJos\xe9,1\nRen\xe9e,2\n"), "utf-8", "[{2 bytes that are not utf-8 were replaced}]"},
		"utf-16":     {utf16le, "utf-16", "[]"},
		"odd utf-16": {append([]byte{0xff, 0xfe}, "a\x00,\x00b\x00\n\x00x"...), "utf-16", ""},
		"binary":     {[]byte("\x7fELF\x00\x01\x02\xff\xfe\n\xff"), "utf-8", ""},
		"ragged":     {[]byte("a,b\n1,2\n1\n"), "utf-8", "[{3 1 cells, but the header has 2}]"},
		"huge cell":  {[]byte("a,b\n\"" + strings.Repeat("x", 3<<20) + "\",1\n"), "utf-8", "[{3 field larger than field limit (1048576); nothing after this line was read}]"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "t.csv"), tt.content, 0o644); err != nil {
				t.Fatal(err)
			}
			tab, _ := profile(t, map[string]any{"file": "t.csv"}, dir)
			if tab.Encoding != tt.encoding {
				t.Errorf("encoding %q", tab.Encoding)
			}
			if got := fmt.Sprint(tab.Problems); tt.want != "" && got != tt.want {
				t.Errorf("problems %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDataProfileRefuses(t *testing.T) {
	testutil.Require(t, "python3")
	dir := t.TempDir()
	for file, text := range map[string]string{"in/sales.csv": "a\n1\n", "in/sub/x.csv": "a\n1\n", "secret.csv": "s\n1\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret.csv"), filepath.Join(dir, "in/link.csv")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"not there":    {map[string]any{"file": "sale.csv"}, "there is no input file 'sale.csv'; there are: link.csv, sales.csv, sub/x.csv"},
		"outside":      {map[string]any{"file": "../secret.csv"}, "there is no input file"},
		"by a link":    {map[string]any{"file": "link.csv"}, "there is no input file"},
		"absolute":     {map[string]any{"file": "/etc/passwd"}, "there is no input file"},
		"a folder":     {map[string]any{"file": "sub"}, "there is no input file"},
		"which":        {map[string]any{}, "more than one input file; give the name of one as file; there are: link.csv, sales.csv, sub/x.csv"},
		"both":         {map[string]any{"csv": "a\n", "file": "sales.csv"}, "give either csv or file, not both"},
		"nul":          {map[string]any{"file": "a\x00b"}, "null"},
		"delimiter":    {map[string]any{"csv": "a,b\n", "delimiter": "\n"}, "delimiter: a quote or a line break cannot stand between cells"},
		"many columns": {map[string]any{"csv": strings.Repeat(",", 2000) + "\n"}, "2001 columns are too many; the most is 2000"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, "data-profile", tt.args, filepath.Join(dir, "in"))
			if o.result.Success || !strings.Contains(o.result.Error, tt.want) {
				t.Errorf("got %+v", o.result)
			}
		})
	}
	if tab, _ := profile(t, map[string]any{"file": "sub/x.csv"}, filepath.Join(dir, "in")); tab.Rows != 1 {
		t.Errorf("got %+v", tab)
	}
}

// The one file of a call needs no name, as `hotcell help run` has it.
func TestDataProfileTakesTheOnlyFile(t *testing.T) {
	testutil.Require(t, "python3")
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := run(t, "data-profile", map[string]any{}, dir)
	if want := "give the table as csv, or bring an input file; the call brought none"; o.result.Success || o.result.Error != want {
		t.Errorf("with no file: %+v, want %q", o.result, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "sub", "data.csv"), []byte("a,b\n1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if tab, _ := profile(t, map[string]any{"sample": 5}, dir); tab.Rows != 1 {
		t.Errorf("got %+v", tab)
	}
}

func TestDataProfileArguments(t *testing.T) {
	s, _ := library(t).Find("data-profile")
	for name, tt := range map[string]struct {
		args map[string]any
		want string
	}{
		"typo":      {map[string]any{"csv": "a", "delimeter": ";"}, "arguments.delimeter: unknown property"},
		"delimiter": {map[string]any{"csv": "a", "delimiter": ";;"}, "arguments.delimiter: expected at most 1 characters, got 2"},
		"sample":    {map[string]any{"csv": "a", "sample": 0}, "arguments.sample: expected at least 1, got 0"},
	} {
		if _, err := s.Arguments(tt.args); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A large table is read as a stream: progress follows the bytes, and what is kept is bounded and said to be approximate.
func TestDataProfileLargeTable(t *testing.T) {
	testutil.Require(t, "python3")
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("id,word\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "%d,w%d\n", i, i%7)
	}
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	tab, o := profile(t, map[string]any{"file": "t.csv"}, dir)
	id, word := tab.Columns[0], tab.Columns[1]
	if tab.Rows != 30_000 || !id.Approximate || id.Distinct != 10_000 || word.Approximate || word.Distinct != 7 {
		t.Errorf("got %d rows, %+v, %+v", tab.Rows, id, word)
	}
	if *id.Mean != 14999.5 || *id.P50 < 14_000 || *id.P50 > 16_000 {
		t.Errorf("mean %v, median %v", *id.Mean, *id.P50)
	}
	if n := count(o.events, "progress"); n < 15 {
		t.Errorf("%d progress events", n)
	}
}
