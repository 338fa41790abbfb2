package carillon.api.targets;

import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.json.Fields;
import carillon.model.Echo;
import carillon.model.target.BrokerName;
import carillon.model.target.BrokerTargetRules;
import carillon.model.target.Grants;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.Target;
import org.jspecify.annotations.Nullable;

/** Reads broker targets. */
public final class BrokerFields {

  private final BrokerTargetRules rules;

  public BrokerFields(BrokerTargetRules rules) {
    this.rules = rules;
  }

  @Nullable Target readForTask(Fields parent, BrokerName.Kind kind, Grants grants) {
    Fields fields = parent.object(kind.text());
    if (fields == null) {
      return null;
    }
    for (String name : new String[] {"maxDepth", depthField(kind)}) {
      if (fields.has(name)) {
        fields.wrong(name, ErrorCode.INVALID_VALUE, "is only allowed in the type's target");
      }
    }
    return read(fields, kind, null, grants);
  }

  @Nullable Target readForType(Fields parent, BrokerName.Kind kind, Grants grants) {
    Fields fields = parent.object(kind.text());
    return fields == null ? null : read(fields, kind, depth(fields, kind), grants);
  }

  private static String depthField(BrokerName.Kind kind) {
    return switch (kind) {
      case KAFKA -> "group";
      case RABBITMQ -> "queue";
    };
  }

  private static Target.@Nullable DepthLimit depth(Fields fields, BrokerName.Kind kind) {
    Integer max = fields.integer("maxDepth", 1, BrokerTargetRules.MAX_DEPTH);
    String given = fields.string(depthField(kind));
    if (max == null) {
      if (given != null && !fields.has("maxDepth")) {
        fields.wrong(depthField(kind), ErrorCode.INVALID_VALUE, "requires maxDepth");
      }
      return null;
    }
    String measured =
        given == null && kind == BrokerName.Kind.RABBITMQ ? defaultQueue(fields) : given;
    return measured == null
        ? fields.required(depthField(kind), null)
        : new Target.DepthLimit(max, measured);
  }

  /** With the default exchange, the routing key is the queue. */
  private static @Nullable String defaultQueue(Fields fields) {
    String exchange = fields.string("exchange");
    return exchange == null || exchange.isEmpty() ? fields.string("routingKey") : null;
  }

  private @Nullable Target read(
      Fields fields, BrokerName.Kind kind, Target.@Nullable DepthLimit depth, Grants grants) {
    int before = fields.errors().count();
    String cluster = cluster(fields, kind, grants);
    Target.Complete given = fields.choice("complete", Target.Complete.class, Target.Complete::text);
    Target.Complete complete = given == null ? Target.Complete.ON_REPORT : given;
    Target.Broker target =
        switch (kind) {
          case KAFKA -> kafka(fields, cluster, complete, depth);
          case RABBITMQ -> rabbit(fields, cluster, complete, depth);
        };
    fields.done();
    if (target == null || fields.errors().count() > before) {
      return null;
    }
    for (HttpTargetRules.Problem problem : rules.check(target, grants)) {
      fields
          .errors()
          .add(new FieldError(fields.at(problem.field()), problem.code(), problem.message()));
    }
    return target;
  }

  private @Nullable String cluster(Fields fields, BrokerName.Kind kind, Grants grants) {
    String cluster = fields.string("cluster");
    if (cluster != null) {
      if (!BrokerName.isCluster(cluster)) {
        fields.wrong(
            "cluster",
            ErrorCode.TARGET_NOT_ALLOWED,
            "\"%s\" is not the name of a cluster: %s"
                .formatted(Echo.of(cluster), rules.choice(kind, grants)));
      }
      return cluster;
    }
    String only = rules.onlyCluster(kind).orElse(null);
    if (only == null && !fields.has("cluster")) {
      fields.wrong(
          "cluster", ErrorCode.TARGET_NOT_ALLOWED, "is required: " + rules.choice(kind, grants));
    }
    return only;
  }

  private static Target.@Nullable Kafka kafka(
      Fields fields,
      @Nullable String cluster,
      Target.Complete complete,
      Target.@Nullable DepthLimit depth) {
    String topic = fields.required("topic", fields.string("topic"));
    return topic == null || cluster == null
        ? null
        : new Target.Kafka(cluster, topic, complete, depth);
  }

  private static Target.@Nullable RabbitMq rabbit(
      Fields fields,
      @Nullable String cluster,
      Target.Complete complete,
      Target.@Nullable DepthLimit depth) {
    String exchange = fields.string("exchange");
    String routingKey = fields.required("routingKey", fields.string("routingKey"));
    return routingKey == null || cluster == null
        ? null
        : new Target.RabbitMq(
            cluster, exchange == null ? "" : exchange, routingKey, complete, depth);
  }
}
