package page

import (
	"golang.org/x/net/html/atom"
)

func (r *reader) startTitle(e *element) {
	r.capture(e, maxTitle, func(c *capture) {
		title := Collapse(c.String())
		appendBounded(r, &r.Titles, maxTitles, len(title), title)
	})
}

func (r *reader) meta(e *element) {
	m := Meta{Name: lower(e.value("name")), Property: lower(e.value("property")), HTTPEquiv: lower(e.value("http-equiv")),
		InHead: r.head > 0, Inert: r.template > 0}
	if m.Name == "" && m.Property == "" && m.HTTPEquiv == "" {
		return
	}
	m.Content, m.HasContent = e.attr("content")
	appendBounded(r, &r.Metas, maxMeta, len(m.Name)+len(m.Property)+len(m.Content)+64, m)
}

func (r *reader) link(e *element) {
	l := LinkTag{Rel: tokens(e.value("rel")), Hreflang: e.value("hreflang"), Type: e.value("type"), InHead: r.head > 0}
	var href string
	if href, l.HasHref = e.attr("href"); l.HasHref {
		l.Ref = r.ref(href)
	}
	sheet := l.HasHref && l.hasRel("stylesheet")
	if sheet {
		r.Counts.Stylesheets++
	}
	if len(l.Rel) > 0 {
		appendBounded(r, &r.LinkTags, maxLinkTags, l.Ref.size()+200, l)
	}
	switch {
	case href == "":
	case sheet && !l.hasRel("alternate"):
		r.loads("link", l.Ref, true)
	case l.hasRel("icon"), l.hasRel("apple-touch-icon"):
		r.loads("link", l.Ref, false)
	case l.hasRel("preload"), l.hasRel("modulepreload"), l.hasRel("manifest"):
		r.loads("link", l.Ref, lower(e.value("as")) != "image")
	}
}

func (r *reader) startHeading(e *element) {
	level := int(e.name[1] - '0')
	r.Levels[level-1]++
	at := len(r.Headings)
	if !appendBounded(r, &r.Headings, maxHeadings, 64, Heading{Level: level}) {
		return
	}
	r.capture(e, maxTitle, func(c *capture) {
		r.Headings[at].Text = Collapse(c.String())
		r.kept += len(r.Headings[at].Text)
	})
}

func (r *reader) startAnchor(e *element) {
	href, ok := e.attr("href")
	if !ok {
		return
	}
	a := Anchor{Ref: r.ref(href), Rel: tokens(e.value("rel")), Target: clip(e.value("target"), 100)}
	a.Kind = r.kind(a.URL)
	r.count(&a)
	if e.atom == atom.Area {
		a.Text = clip(Collapse(e.value("alt")), maxAnchorText)
	}
	at := len(r.Anchors)
	if !appendBounded(r, &r.Anchors, maxAnchors, a.Ref.size()+200, a) || e.atom == atom.Area {
		return
	}
	r.anchor = at + 1
	r.capture(e, 4*maxAnchorText, func(c *capture) {
		if text := clip(Collapse(c.String()), maxAnchorText); text != "" {
			r.Anchors[at].Text = text
			r.kept += len(text)
		}
	})
}

// maxAnchorText bounds what is kept of the text of a link.
const maxAnchorText = 200

func (r *reader) kind(url string) LinkKind {
	scheme, _ := cutScheme(url)
	switch {
	case scheme != "http" && scheme != "https":
		return other
	case hostOf(url) == r.host:
		return internal
	default:
		return external
	}
}

func (r *reader) count(a *Anchor) {
	r.Links.All++
	switch a.Kind {
	case internal:
		r.Links.Internal++
	case external:
		r.Links.External++
	default:
		r.Links.Other++
	}
	for _, rel := range a.Rel {
		switch rel {
		case "nofollow":
			r.Links.NoFollow++
		case "ugc":
			r.Links.UGC++
		case "sponsored":
			r.Links.Sponsored++
		}
	}
}

func (r *reader) image(e *element) {
	alt, described := e.attr("alt")
	i := Image{HasAlt: described}
	r.Counts.Images++
	if !i.HasAlt {
		r.Counts.MissingAlt++
	}
	if r.anchor > 0 && r.Anchors[r.anchor-1].Text == "" {
		r.Anchors[r.anchor-1].Text = Collapse(clip(alt, maxAnchorText))
	}
	if src, ok := e.attr("src"); ok {
		i.Ref = r.ref(src)
		r.loads("img", i.Ref, false)
	}
	r.sources("img", e.value("srcset"))
	appendBounded(r, &r.Images, maxImages, i.Ref.size()+100, i)
}
