package carillon.model.cron;

import carillon.model.cron.CronPart.Span;
import java.util.List;
import java.util.Map;

/**
 * A parsed cron expression.
 *
 * @param parts the entries of each field
 * @param bothDays whether a day must match both day fields, instead of either
 */
record CronFields(Map<CronField, List<CronPart>> parts, boolean bothDays) {

  CronFields {
    parts = Map.copyOf(parts);
  }

  List<CronPart> parts(CronField field) {
    return parts.getOrDefault(field, List.of());
  }

  /** Whether the field matches every value. */
  boolean isOpen(CronField field) {
    return Long.bitCount(values(field)) == field.size();
  }

  /** The values that the field lists, one bit each. */
  long values(CronField field) {
    long values = 0;
    for (CronPart part : parts(field)) {
      if (part instanceof Span span) {
        for (int value = span.from(); value <= span.to(); value += span.step()) {
          values |= 1L << (value > field.max() ? field.min() : value);
        }
      }
    }
    return values;
  }
}
