package backoff

import (
	"errors"
	"reflect"
)

// unmark returns err without the marks in its tree, and reports whether there were any.
func unmark(err error) (error, bool) {
	if _, ok := asType[*PermanentError](err); !ok {
		return err, false
	}
	// Marks at the top come off, so that what they mark comes back as it is.
	for {
		mark, ok := err.(*PermanentError)
		if !ok {
			break
		}
		err = mark.Unwrap()
		if err == nil {
			return errors.New(mark.Error()), true // the mark was empty
		}
	}
	// Those below cannot come off without taking the errors above them apart, so they are hidden. An
	// error of type unmarked shows no mark here, so it is never hidden twice, and k nested loops cost O(k).
	if _, ok := asType[*PermanentError](err); ok {
		err = &unmarked{err}
	}
	return err, true
}

func withoutMarks(err error) error {
	err, _ = unmark(err)
	return err
}

// unmarked hides the marks in an error, so that an inner loop's mark does not stop an outer loop. It
// has the text of the whole, and Is and As find in it what they find in the whole, in the same order,
// but the marks.
//
// It has no method Unwrap: errors.Is and errors.As would go on there by themselves and find a mark. It
// holds the whole, instead of a copy of the tree without the marks, because the errors above a mark
// cannot be copied, and because the order of what is found would not be the whole's: of two
// RetryAfterErrors the first counts.
type unmarked struct{ whole error }

func (e *unmarked) Error() string { return e.whole.Error() }

func (e *unmarked) Is(target error) bool {
	// A mark matches marks alone, so where no mark is looked for none is found.
	_, mark := target.(*PermanentError)
	return !mark && errors.Is(e.whole, target)
}

func (e *unmarked) As(target any) bool {
	// What a mark can be found as is not looked for at all: a PermanentError, or an interface that
	// PermanentError has. Neither is an error's own As asked then, which may say that it is a mark.
	if reflect.TypeFor[*PermanentError]().AssignableTo(reflect.TypeOf(target).Elem()) {
		return false
	}
	return errors.As(e.whole, target)
}

// asType stands in for errors.AsType until go.mod requires Go 1.26. Unlike errors.As it does not
// reflect, nor allocate for an error without an As method: every failed attempt is searched twice, for
// a mark and for a server's wait.
func asType[E error](err error) (none E, ok bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		if x, ok := err.(interface{ As(any) bool }); ok {
			target := new(E)
			if x.As(target) {
				return *target, true
			}
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, err := range x.Unwrap() {
				if e, ok := asType[E](err); ok {
					return e, true
				}
			}
			return none, false
		default:
			return none, false
		}
	}
	return none, false
}
