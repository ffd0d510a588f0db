package curator

import (
	"fmt"
	"testing"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
)

// crowd is a catalog of 1,000 shipped skills and 10,000 custom ones of 400 principals.
func crowd(b *testing.B) *rig {
	r := newRig(b)
	for i := range 1000 {
		r.ship(fmt.Sprintf("shipped-%03d", i), "")
	}
	if err := r.lib.Refresh(); err != nil {
		b.Fatal(err)
	}
	for p := range 400 {
		who := caller(p)
		for i := range mostSkills {
			_, err := r.store.AddCustomSkill(b.Context(), self(who), catalog.Record{
				Name: fmt.Sprintf("custom-%02d", i), Provenance: byHuman,
				Content: catalog.Content{Description: "One of many.", Body: "# Custom\n", Files: map[string]string{"references/more.md": "More.\n"}},
			}, mostSkills)
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	return r
}

func caller(n int) a2e.Caller { return a2e.Caller{Principal: fmt.Sprintf("user-%d", n)} }

func BenchmarkCrowd(b *testing.B) {
	r := crowd(b)
	b.Run("first look", func(b *testing.B) {
		for b.Loop() {
			c := New(Config{Shipped: r.lib, Store: r.store})
			if _, err := c.View(b.Context(), caller(0)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list page", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if all, err := r.Skills(b.Context(), caller(i%400), 0); err != nil || len(all) != 1027 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("lookup of one never read", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if i%mostSkills == 0 {
				r.shelf.most = 1 // forgets
			}
			if _, err := r.Skill(b.Context(), caller(i%400), fmt.Sprintf("custom-%02d", i%mostSkills), 0); err != nil {
				b.Fatal(err)
			}
		}
		r.shelf.most = cacheBytes
	})
	b.Run("lookup", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := r.Skill(b.Context(), caller(i%40), fmt.Sprintf("custom-%02d", i%mostSkills), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("custom list", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if all, err := r.List(b.Context(), caller(i%400), 0); err != nil || len(all) != mostSkills {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("view of a caller with none", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := r.View(b.Context(), bob)
			if err != nil {
				b.Fatal(err)
			}
			if s, _ := v.Find("shipped-500"); s == nil {
				b.Fatal("not found")
			}
		}
	})
	b.Run("view and find of a custom one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := r.View(b.Context(), caller(7))
			if err != nil {
				b.Fatal(err)
			}
			if s, _ := v.Find("custom-07"); s == nil {
				b.Fatal("not found")
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Update(b.Context(), caller(3), 0, "custom-03", catalog.AnyRevision, catalog.Draft{Body: ptr("x")}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
