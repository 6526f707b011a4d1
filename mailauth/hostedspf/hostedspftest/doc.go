// Package hostedspftest is the conformance suite for stores of hosted SPF: call [TestStore]. It also has a [Clock]
// that is set by hand.
//
// Pass [TestStore] a function that opens an empty store, whose claims end by the clock:
//
//	func TestStore(t *testing.T) {
//		hostedspftest.TestStore(t, func(t *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
//			return mystore.New(mystore.Config{Clock: clock.Now})
//		})
//	}
//
// A store that outlives its process also has a method Reopen(*testing.T) hostedspf.Store, which closes and reopens
// it.
package hostedspftest
