package postgres

// Statements are those whose plans are kept, by name.
func Statements() map[string]string {
	return map[string]string{
		"deduct.sql": deductSQL, "deduct_limited.sql": deductLimitedSQL, "expire.sql": expireSQL,
		"selectBuyerUnits": selectBuyerUnits, "countBuyers": countBuyers, "lockBuyers": lockBuyers, "uncountBuyers": uncountBuyers,
		"selectByIDs": selectByIDs, "selectDeduction": selectDeduction,
		"hasExpired": hasExpired, "selectUnitsOfBuyer": selectUnitsOfBuyer, "selectExpired": selectExpired, "selectUntil": selectUntil,
		"insertMerged": insertMerged, "insertParts": insertParts,
		"insertMovement": insertMovement, "selectMovement": selectMovement, "selectMovements": selectMovements,
		"insertOrder": insertOrder, "selectOrder": selectOrder, "selectLines": selectLines,
		"layOut": layOut, "deleteBeyond": deleteBeyond, "setLayout": setLayout,
		"lockLayout": lockLayout, "lockSegments": lockSegments, "changeSegments": changeSegments,
		"lockSome": lockSome, "selectLayout": selectLayout, "selectWhole": selectWhole, "lockWhole": lockWhole,
		"selectParts": selectParts, "updateDeductions": updateDeductions, "deleteParts": deleteParts,
		"insertSKU": insertSKU, "insertSegments": insertSegments, "selectStatus": selectStatus, "selectViews": selectViews,
		"selectSoldOut": selectSoldOut, "selectAccepted": selectAccepted,
		"lockSegment": lockSegment, "insertDeductions": insertDeductions, "takeFromSegment": takeFromSegment,
		"outbox_read.sql": outboxReadSQL, "trimOutbox": trimOutbox,
	}
}
