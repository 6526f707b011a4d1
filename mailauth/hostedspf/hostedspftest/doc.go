// Package hostedspftest is the conformance suite of stores of hosted SPF, and a clock that is set by hand.
//
// Whoever writes a store hands [TestStore] a function that opens an empty one, which ends claims by the clock:
//
//	func TestStore(t *testing.T) {
//		hostedspftest.TestStore(t, func(t *testing.T, clock *hostedspftest.Clock) hostedspf.Store {
//			return mystore.New(mystore.Config{Clock: clock.Now})
//		})
//	}
//
// Where the store outlives its process it also implements reopener, and the suite tests what must survive.
package hostedspftest
