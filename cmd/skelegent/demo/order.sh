# Places an order: a line in orders.txt, with the run that placed it and its input. Then it asks for a mail: an effect,
# which an executor performs.
{ printf '%s ' "$SKG_RUN_ID"; cat; echo; } >> orders.txt
number=$(($(wc -l < orders.txt)))
cat <<END
{"message":"order $number is placed","exit_reason":"complete",
 "metadata":{"tokens_in":0,"tokens_out":0,"cost":"0","turns_used":0,"sub_dispatches":[],"duration":0},
 "effects":[{"type":"custom","effect_type":"mail","data":{"to":"warehouse","text":"order $number"}}]}
END
