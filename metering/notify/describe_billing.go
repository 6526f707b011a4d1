package notify

import "fmt"

func periodClosed(f facts) summary {
	return summary{
		Title: "Invoice for " + f.month(),
		Text:  fmt.Sprintf("The month %s is closed. Your account used %s.", f.month(), credits(f.Used)),
		Facts: f.aboutUsage(),
	}
}

func overageBilled(f facts) summary {
	return summary{
		Title: "Overage billed for " + f.month(),
		Text:  fmt.Sprintf("%s beyond the allowance of %s cost %s.", credits(f.Overage), f.month(), f.money(f.Cost)),
		Facts: f.aboutUsage(),
	}
}

func paymentFailed(f facts) summary {
	return summary{
		Title:  "Payment failed for " + f.month(),
		Text:   "The invoice for " + f.month() + " could not be paid.",
		Facts:  f.aboutUsage(),
		Action: "Check the payment method.",
	}
}
