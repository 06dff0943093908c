package postgres

// Statements are those whose plans are kept, by name.
func Statements() map[string]string {
	return map[string]string{
		"deduct.sql": deductSQL, "deduct_limited.sql": deductLimitedSQL, "expire.sql": expireSQL,
		"selectTaken": selectTaken, "countBuyers": countBuyers, "lockBuyers": lockBuyers, "uncountBuyers": uncountBuyers,
		"selectByIDs": selectByIDs, "selectDeduction": selectDeduction,
		"hasExpired": hasExpired, "selectHeld": selectHeld, "selectExpired": selectExpired, "selectUntil": selectUntil,
		"insertMerged": insertMerged, "insertParts": insertParts,
		"insertMovement": insertMovement, "selectMovement": selectMovement, "selectMovements": selectMovements,
		"insertOrder": insertOrder, "selectOrder": selectOrder, "selectLines": selectLines,
		"layOut": layOut, "deleteBeyond": deleteBeyond, "setLayout": setLayout,
		"lockLayout": lockLayout, "lockSegments": lockSegments, "changeSegments": changeSegments,
		"lockSome": lockSome, "selectLayout": selectLayout, "selectWhole": selectWhole, "lockWhole": lockWhole,
		"selectParts": selectParts, "updateDeductions": updateDeductions, "deleteParts": deleteParts,
		"insertSKU": insertSKU, "insertSegments": insertSegments, "selectStatus": selectStatus, "selectViews": selectViews,
		"selectEmptiness": selectEmptiness, "selectAccepted": selectAccepted,
		"lockSegment": lockSegment, "insertDeductions": insertDeductions, "takeFromSegment": takeFromSegment,
		"outbox_read.sql": outboxReadSQL, "trimOutbox": trimOutbox,
	}
}
