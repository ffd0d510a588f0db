package js

import (
	"github.com/grafana/sobek"
	"github.com/hotcell/hotcell/internal/engine"
)

// entry runs the script's top level and returns the function to call.
func (s *script) entry() (sobek.Callable, error) {
	if s.main.record == nil {
		exports, err := s.modules.require(s.main)
		if err != nil {
			return nil, err
		}
		if f, ok := sobek.AssertFunction(exports); ok {
			return f, nil
		}
		if o, ok := exports.(*sobek.Object); ok {
			if f, ok := sobek.AssertFunction(o.Get("default")); ok {
				return f, nil
			}
		}
		return nil, engine.Finalf(codeNoExport, "%s: module.exports is no function: expected module.exports = async (args, skill) => result", s.main.name)
	}
	// Within a call of JavaScript, so that what the module leaves to do is done after it.
	evaluate, _ := sobek.AssertFunction(s.rt.ToValue(func(sobek.FunctionCall) sobek.Value {
		return s.rt.ToValue(s.rt.CyclicModuleRecordEvaluate(s.main.record, s.modules.resolve))
	}))
	promise, err := evaluate(sobek.Undefined())
	if err != nil {
		return nil, err
	}
	if _, err := s.wait(promise, s.main.name+": its top level waits for something that never comes"); err != nil {
		return nil, err
	}
	f, ok := sobek.AssertFunction(s.rt.NamespaceObjectFor(s.main.record).Get("default"))
	if !ok {
		return nil, engine.Finalf(codeNoExport, "%s: the default export is no function: expected export default async (args, skill) => result", s.main.name)
	}
	return f, nil
}
