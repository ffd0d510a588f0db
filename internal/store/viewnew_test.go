package store

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotcell/hotcell/internal/control"
)

// A call that was just accepted is kept as any other is, byte by byte; and a field that a call gets one day is left out nowhere.
func TestNewCallsAreKeptAsAnyOther(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 3600), time.FixedZone("", -9000)}
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string) time.Time {
			if rapid.Bool().Draw(t, name+" unset") {
				return time.Time{}
			}
			return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(rapid.SampledFrom(zones).Draw(t, "zone"))
		}
		text := func(name string) string { return rapid.StringN(0, 20, 40).Draw(t, name) }
		c := control.Call{
			ID: text("id"), ReqID: text("request"), Skill: text("skill"), Principal: text("principal"), Agent: text("agent"), Door: text("door"),
			State: control.State(text("state")), Cell: text("cell"), Hosted: rapid.Bool().Draw(t, "hosted"),
			Accepted: at("accepted"), Started: at("started"), Deadline: at("deadline"), Events: rapid.IntRange(0, 9).Draw(t, "events"),
		}
		got, ok := encodeNew(&c)
		want, err := json.Marshal(view{Call: c})
		if err != nil || !ok || string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s (%v, %v)", got, want, ok, err)
		}
	})
	kind := reflect.TypeFor[control.Call]()
	for i := range kind.NumField() {
		var c control.Call
		f := reflect.ValueOf(&c).Elem().Field(i)
		if !fill(f) {
			t.Fatalf("field %s: nobody here knows a value for it", kind.Field(i).Name)
		}
		want, err := json.Marshal(view{Call: c, Account: c.Account})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := encodeNew(&c); ok && string(got) != string(want) {
			t.Errorf("field %s: got %s, want %s", kind.Field(i).Name, got, want)
		}
	}
}

// fill gives a field a value that is not zero.
func fill(f reflect.Value) bool {
	switch {
	case f.Type() == reflect.TypeFor[time.Time]():
		f.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
	case f.Kind() == reflect.String:
		f.SetString("x")
	case f.Kind() == reflect.Bool:
		f.SetBool(true)
	case f.CanInt():
		f.SetInt(7)
	case f.Kind() == reflect.Pointer:
		f.Set(reflect.New(f.Type().Elem()))
	case f.Kind() == reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1, 1))
	case f.Kind() == reflect.Map:
		f.Set(reflect.MakeMap(f.Type()))
		f.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf(any(1)))
	default:
		return false
	}
	return true
}
