package console

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/control"
)

// maxRef is the longest name of an image that is taken, in bytes.
const maxRef = 512

// deskPatience is how long asking registries and pruning may take.
const deskPatience = 2 * time.Minute

func (c *Console) imagePages() []page {
	if c.o.Images == nil {
		return nil
	}
	const base = Base + "/images"
	write := func(what string, serve func(*visit) error) page {
		return page{pattern: "POST " + base + what, scope: auth.Admin, people: true, serve: serve}
	}
	return []page{
		{pattern: "GET " + base, scope: auth.Admin, serve: (*visit).images},
		{pattern: "GET " + base + "/live", scope: auth.Admin, serve: (*visit).imagesLive},
		write("/ask", (*visit).askRegistries),
		write("/pull", (*visit).pullImage),
		write("/pin", (*visit).pinImage),
		write("/unpin", (*visit).unpinImage),
		write("/prune", (*visit).pruneImages),
	}
}

// imagesView is the list of images, with the pulls that run or ended lately.
type imagesView struct {
	Images []control.ImageRow
	Asked  bool // registries were
	Fault  string
	Ref    string // in the form
	Locked string // why nothing can be changed
	Paged  paged
	Pulls  pullsView
}

func (v *visit) images() error { return v.imageList(http.StatusOK, imagesView{}, false) }

func (v *visit) imageList(status int, view imagesView, ask bool) error {
	all, err := v.o.Images.List(v.ctx(), ask)
	if err != nil {
		return err
	}
	view.Asked = ask
	view.Images, view.Paged = cut(v, all, at("images")+"?page=")
	if ask {
		view.Images, view.Paged = all, paged{}
	}
	view.Pulls = v.pulls.view()
	if v.who.Agent != "" {
		view.Locked = "This token speaks for the agent " + v.who.Agent + ". People keep images, with a token of their own."
	}
	return v.renderAs(status, "images", "Images", view)
}

// alone has one request at a time ask registries or prune.
func (v *visit) alone(do func() error) error {
	select {
	case v.desk <- struct{}{}:
		defer func() { <-v.desk }()
	default:
		return &trouble{status: http.StatusServiceUnavailable, title: "Busy", message: "Somebody asks registries or removes images already. Try again in a moment."}
	}
	v.patient(deskPatience)
	ctx, cancel := context.WithTimeout(v.ctx(), deskPatience)
	defer cancel()
	v.r = v.r.WithContext(ctx)
	return do()
}

func (v *visit) askRegistries() error {
	return v.alone(func() error { return v.imageList(http.StatusOK, imagesView{}, true) })
}

// ref is the image that a form names.
func (v *visit) ref() (string, error) {
	ref := strings.TrimSpace(v.form("ref"))
	if ref == "" || len(ref) > maxRef {
		return "", wrong("Image: expected a name such as python:3.12-slim, with a tag, and at most 512 bytes.")
	}
	return ref, nil
}

func (v *visit) pinImage() error {
	ref, err := v.ref()
	if err != nil {
		return err
	}
	if strings.Contains(ref, "@") {
		v.patient(deskPatience) // what is not here is fetched
	}
	if _, err := v.o.Images.Pin(v.ctx(), ref); err != nil {
		return err
	}
	return v.done(at("images"), "image-pinned")
}

func (v *visit) unpinImage() error {
	ref, err := v.ref()
	if err != nil {
		return err
	}
	was, err := v.o.Images.Unpin(v.ctx(), ref)
	switch {
	case err != nil:
		return err
	case !was:
		return &control.Fault{Message: "This tag is not pinned. Load the page again to see what is."}
	}
	return v.done(at("images"), "image-removed")
}

// pruneView is what would be removed, or was.
type pruneView struct {
	Dry      bool
	Verdicts []control.ImageVerdict
	Go, Stay int
	Bytes    int64 // that go
	Fault    string
}

func (v *visit) pruneImages() error {
	what := v.form("do")
	if what != "look" && what != "remove" {
		return wrong("do: expected look or remove, as the page's form has it")
	}
	return v.alone(func() error {
		all, err := v.o.Images.Prune(v.ctx(), what == "look")
		if err != nil && len(all) == 0 {
			return err
		}
		view := pruneView{Dry: what == "look", Verdicts: all}
		if err != nil {
			view.Fault = v.troubleOf(err).message
		}
		for _, one := range all {
			if one.Removed {
				view.Go, view.Bytes = view.Go+1, view.Bytes+one.Bytes
			} else {
				view.Stay++
			}
		}
		return v.render("prune", "Remove images", view)
	})
}
