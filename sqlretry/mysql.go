package sqlretry

import "reflect"

// mysqlSays knows the error of go-sql-driver/mysql by its fields. It has no method that would tell.
func mysqlSays(err error) answer {
	number := field(err, "Number")
	state := field(err, "SQLState")
	if number.Kind() != reflect.Uint16 || !state.IsValid() || state.Type() != reflect.TypeFor[[5]byte]() {
		return unrecognised
	}

	switch number.Uint() {
	case 1213, 1205, 1020: // deadlock, lock wait timeout, MariaDB's snapshot conflict
		return conflict
	case 1412: // a table has changed since the transaction's snapshot
		return conflict
	case 3101: // Group Replication has rolled the transaction back
		return conflict
	case 8002, 8022, 8028, 9007: // TiDB: write conflicts, a changed schema
		return conflict
	case 8501: // TiDB: execution result undetermined
		return unknown
	case 1105, 1317: // Vitess: an error between its servers, or their time is over
		return unknown
	case 1040, 1203: // too many connections, of all users or of this one
		return full
	case 1153: // the statement is larger than the server takes, in the class of lost connections
		return failed
	case 1927, 3169, 4031: // MariaDB, MySQL: killed; MySQL: idle for too long
		return lost
	case 2006, 2013: // a proxy has lost the server
		return lost
	}

	var letters [5]byte
	for i := range letters {
		letters[i] = byte(state.Index(i).Uint())
	}
	return max(failed, stateSays(string(letters[:])))
}

// field returns the field of an error that is a struct or points to one. If there is none, the Value is not valid.
func field(err error, name string) reflect.Value {
	v := reflect.Indirect(reflect.ValueOf(err))
	if v.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	f, ok := v.Type().FieldByName(name)
	if !ok {
		return reflect.Value{}
	}
	value, _ := v.FieldByIndexErr(f.Index) // an error if an embedded pointer is nil
	return value
}
