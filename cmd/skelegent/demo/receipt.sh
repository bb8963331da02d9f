# Asks for two mails, in this order.
cat <<END
{"message":"the receipts will be sent","exit_reason":"complete",
 "metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0},
 "effects":[{"type":"custom","effect_type":"mail","data":{"to":"customer","text":"receipt"}},
            {"type":"custom","effect_type":"mail","data":{"to":"accountant","text":"receipt"}}]}
END
