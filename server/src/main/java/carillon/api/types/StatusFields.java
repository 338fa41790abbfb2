package carillon.api.types;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.api.json.JsonValue;
import carillon.model.target.StatusRules;
import carillon.model.target.StatusRules.Range;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads which status codes of a target mean success, retry or dead. */
final class StatusFields {

  private static final String RULE =
      "must be a status code from 100 to 599, or a range such as \"5xx\" or \"500-503\"";

  private StatusFields() {}

  static StatusRules read(Fields fields) {
    List<Range> success = ranges(fields, "successCodes");
    List<Range> retry = ranges(fields, "retryCodes");
    List<Range> dead = ranges(fields, "deadCodes");
    rejectShared(fields, "retryCodes", retry, "successCodes", success);
    rejectShared(fields, "deadCodes", dead, "successCodes", success);
    rejectShared(fields, "deadCodes", dead, "retryCodes", retry);
    return new StatusRules(success, retry, dead);
  }

  private static List<Range> ranges(Fields fields, String name) {
    List<Range> ranges = new ArrayList<>();
    List<JsonValue> items = fields.items(name, Limits.STATUS_CODES);
    for (int i = 0; i < items.size(); i++) {
      String here = fields.at(name) + "/" + i;
      range(items.get(i))
          .ifPresentOrElse(
              ranges::add, () -> fields.errors().add(here, ErrorCode.INVALID_VALUE, RULE));
    }
    return ranges;
  }

  private static Optional<Range> range(JsonValue item) {
    return switch (item) {
      case JsonValue.Numeral(var digits) when digits.matches("[1-5][0-9]{2}") ->
          Optional.of(Range.of(Integer.parseInt(digits)));
      case JsonValue.Text(var text) -> Range.parse(text);
      default -> Optional.empty();
    };
  }

  private static void rejectShared(
      Fields fields, String name, List<Range> ranges, String otherName, List<Range> others) {
    for (Range range : ranges) {
      for (Range other : others) {
        Optional<Integer> shared = range.shared(other);
        if (shared.isPresent()) {
          fields.wrong(
              name,
              ErrorCode.EXCLUSIVE_FIELDS,
              shared.get()
                  + " is also in "
                  + otherName
                  + "; a status code can be in only one list");
          return;
        }
      }
    }
  }
}
