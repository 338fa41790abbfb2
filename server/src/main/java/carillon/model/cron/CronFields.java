package carillon.model.cron;

import carillon.model.cron.CronPart.Span;
import java.util.List;
import java.util.Map;

/**
 * A cron expression as it was understood.
 *
 * @param parts the entries of each field
 * @param bothDays whether a day must fit both day fields, and not just one of them
 */
record CronFields(Map<CronField, List<CronPart>> parts, boolean bothDays) {

  CronFields {
    parts = Map.copyOf(parts);
  }

  List<CronPart> parts(CronField field) {
    return parts.getOrDefault(field, List.of());
  }

  /** Whether the field fits always. */
  boolean isOpen(CronField field) {
    return Long.bitCount(values(field)) == field.size();
  }

  /** The values that the field names as such, one bit each. */
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
