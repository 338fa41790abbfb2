package carillon.model.cron;

import carillon.model.cron.CronPart.Span;
import com.cronutils.model.definition.CronDefinition;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.field.CronFieldName;
import com.cronutils.model.field.expression.Always;
import com.cronutils.model.field.expression.And;
import com.cronutils.model.field.expression.Between;
import com.cronutils.model.field.expression.FieldExpression;
import com.cronutils.model.field.expression.On;
import com.cronutils.model.field.value.FieldValue;
import com.cronutils.parser.CronParser;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Has a checked cron expression parsed by the library, and takes over what it found. */
final class CronReader {

  private static final CronParser PARSER = new CronParser(definition());

  private CronReader() {}

  private static CronDefinition definition() {
    return CronDefinitionBuilder.defineCron()
        .withSeconds()
        .and()
        .withMinutes()
        .and()
        .withHours()
        .and()
        .withDayOfMonth()
        .supportsL()
        .supportsW()
        .supportsLW()
        .and()
        .withMonth()
        .and()
        .withDayOfWeek()
        .withValidRange(0, 7)
        .withMondayDoWValue(1)
        .supportsHash()
        .supportsL()
        .and()
        .instance();
  }

  /** Takes all six fields as {@link CronSyntax} has written them. */
  static CronFields read(Map<CronField, String> plain) {
    String text = String.join(" ", new EnumMap<>(plain).values());
    Map<CronFieldName, com.cronutils.model.field.CronField> parsed =
        PARSER.parse(text).retrieveFieldsAsMap();
    Map<CronField, List<CronPart>> parts = new EnumMap<>(CronField.class);
    parsed.forEach(
        (name, field) -> {
          CronField ours = CronField.valueOf(name.name());
          parts.put(ours, parts(ours, field.getExpression()));
        });
    return new CronFields(
        parts,
        plain.getOrDefault(CronField.DAY_OF_MONTH, "*").startsWith("*")
            || plain.getOrDefault(CronField.DAY_OF_WEEK, "*").startsWith("*"));
  }

  private static List<CronPart> parts(CronField field, FieldExpression expression) {
    return expression instanceof And list
        ? list.getExpressions().stream().map(each -> part(field, each)).toList()
        : List.of(part(field, expression));
  }

  private static CronPart part(CronField field, FieldExpression expression) {
    return switch (expression) {
      case On on -> on(field, on);
      case Always _ -> new Span(field.min(), field.max(), 1);
      case Between between -> new Span(number(between.getFrom()), number(between.getTo()), 1);
      case com.cronutils.model.field.expression.Every every ->
          stepped(field, every.getExpression(), every.getPeriod().getValue());
      default -> throw unexpected(expression);
    };
  }

  /** A single value before a step is where it begins. */
  private static Span stepped(CronField field, FieldExpression whole, int step) {
    if (!(part(field, whole) instanceof Span span)) {
      throw unexpected(whole);
    }
    return new Span(span.from(), whole instanceof On ? field.max() : span.to(), step);
  }

  private static CronPart on(CronField field, On on) {
    int written = on.getTime().getValue();
    int value = field == CronField.DAY_OF_WEEK ? written % 7 : written;
    int nth = on.getNth().getValue();
    return switch (on.getSpecialChar().getValue()) {
      case NONE -> new Span(value, value, 1);
      case L ->
          field == CronField.DAY_OF_WEEK
              ? new CronPart.LastOfMonth(value)
              : new CronPart.LastDay(Math.max(nth, 0));
      case LW -> new CronPart.LastWorkday();
      case W -> new CronPart.NearestWorkday(value);
      case HASH -> new CronPart.NthOfMonth(value, nth);
      default -> throw unexpected(on);
    };
  }

  private static int number(FieldValue<?> value) {
    if (value.getValue() instanceof Integer number) {
      return number;
    }
    throw new IllegalStateException(value + " is no number");
  }

  private static IllegalStateException unexpected(FieldExpression expression) {
    return new IllegalStateException(
        "no such expression was let through: " + expression.asString());
  }
}
