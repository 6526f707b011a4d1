package httpapi

import "github.com/diagkit/diagkit/diag/view"

// textView is the view of a report of textutil, which is a leaf and knows no views.
func textView(report any) *view.View { return view.Answer("", "") }
